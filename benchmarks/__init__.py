"""Times of numjet beside JAX's, measured in the same run: `python -m benchmarks --jax-python PATH`."""
