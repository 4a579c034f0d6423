"""`jax._src`: JAX's private modules, as far as libraries touch them.

A private module gives the names that JAX's public modules show, too (names.private), and those of the module of its name here.
There are no placeholders for other names: a private name that is not listed is an error of the import, as in another version
of JAX.
"""
