"""check_close: values within tolerances, an array beside lists of arrays, too."""
import numpy as np
import pytest

import numjet.numpy as jnp
from numjet.testing.derivatives import check_close


def test_an_array_is_compared_with_a_list_of_arrays():
    x = jnp.ones((2, 3))
    check_close(x, [x[0], x[1]])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_close(x, [x[0], np.zeros(3, np.float32)])
    with pytest.raises(AssertionError, match="expected the structure"):
        check_close([x], x)
