"""Sparse Jacobians and Hessians: patterns of programs, colourings of patterns, and derivatives by as few products.

Imports `api`, `experimental.sparse` and `lax`. Add an operation's rule of dependence to `rules`; programs inside of operations
are those of `dependence`.
"""

from numjet.experimental.sparse_derivatives.colouring import (
    colour_columns as colour_columns,
    colour_symmetric as colour_symmetric,
)
from numjet.experimental.sparse_derivatives.derivatives import (
    hessian_pattern as hessian_pattern,
    jacobian_pattern as jacobian_pattern,
    sparse_hessian as sparse_hessian,
    sparse_jacobian as sparse_jacobian,
)
