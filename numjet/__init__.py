"""numjet: NumPy's API with composable program transformations, compiled to native code.

>>> import numjet as nj
>>> import numjet.numpy as jnp
>>> nj.jit(nj.grad(lambda x: jnp.sum(x ** 2)))(jnp.arange(3.0)).tolist()
[0.0, 2.0, 4.0]
"""
