"""The classes of `x.at` and `x.at[idx]`, from which libraries derive their own."""
from numjet.numpy.indexing.update import IndexUpdateHelper as _IndexUpdateHelper, IndexUpdateRef as _IndexUpdateRef  # noqa: F401
