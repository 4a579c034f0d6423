"""The XLA backend: jaxprs become StableHLO, compiled and run through PJRT by jaxlib's clients (without importing jax)."""
