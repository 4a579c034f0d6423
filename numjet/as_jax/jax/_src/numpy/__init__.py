"""Parts of jax.numpy that libraries import."""
