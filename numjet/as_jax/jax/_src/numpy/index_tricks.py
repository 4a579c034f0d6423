"""The classes of c_ and r_, from which libraries derive their own."""
from numjet.numpy.indexing.index_grids import (
    CClass as CClass, RClass as RClass, c_ as c_, index_exp as index_exp, r_ as r_, s_ as s_,
)
