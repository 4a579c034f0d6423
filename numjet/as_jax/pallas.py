"""Slices with a traced start under the names of Pallas, as entries of indices. Its other names are placeholders: no kernels.

Libraries that accept such slices as indices ask for their class, whether or not they write kernels.
"""
from numjet.lax.indexing.index_slices import Slice as Slice, ds as ds, ds as dslice  # noqa: F401
