"""`jax._src`: names of JAX's private modules that widely used libraries touch, each with what numjet has for it.

There are no placeholders here: a private name that is not listed is an error of the import, as in another version of JAX.
"""
