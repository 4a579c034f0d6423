"""Random bits: the threefry cipher, and bit generators as XLA defines them. Distributions are in `numjet.random`.
Imports the elementwise and shape families.
Add a generator of bits as a record.
"""
