"""Test helpers: for tests of users' own code, and for the tests of numjet itself.
Imports everything but `tools` and `demo`. The names below are public. The other modules test numjet: cases made from the
records of operations, a reference interpreter, random programs; add a production of random programs to the `grammar` file of
its kind, a check of all records to `records`.

>>> import numjet as nj
>>> from numjet import testing
>>> testing.check_grads(nj.numpy.sin, (0.5,), order=2)
"""

from numjet.testing.derivatives import check_grads as check_grads, check_jvp as check_jvp, check_vjp as check_vjp
from numjet.testing.public.arrays import (
    SHAPES as SHAPES,
    arrays as arrays,
    label as label,
    special_values as special_values,
)
from numjet.testing.public.comparison import assert_allclose as assert_allclose
from numjet.testing.public.counters import Counts as Counts, assert_counts as assert_counts, counting as counting
from numjet.testing.public.ulps import ulps as ulps
