"""Jacobians and Hessians with known patterns, from one product per colour; and the patterns of functions.

A. R. Curtis, M. J. D. Powell and J. K. Reid, "On the estimation of sparse Jacobian matrices" (1974), with derivatives in place
of differences; T. F. Coleman and J. J. More, "Estimation of sparse Hessian matrices and graph coloring problems" (1984).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import grad, jvp, vjp
from numjet.api.vmap import vmap
from numjet.core.aval import ShapedArray
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.experimental.sparse.bcoo import BCOO
from numjet.experimental.sparse_derivatives.colouring import colour_columns, colour_symmetric
from numjet.experimental.sparse_derivatives.dependence import evaluate, known
from numjet.experimental.sparse_derivatives.values import Rows, empty, identity, sparse
from numjet.foundation import dtypes, tree
from numjet.foundation.util import wraps
from numjet.numpy.core.promotion import array_arg
from numjet.transforms.dce import dce_jaxpr

Function = Callable[[Any], Any]
_MODES = ("auto", "forward", "reverse")


# ------------------------------------------------------------------------------------------------ arguments

def _one_argument(name: str, fun: Callable[..., Any], argnums: int, args: Sequence[Any], kwargs: dict[str, Any]
                  ) -> tuple[Function, Any]:
    """fun as a function of one array, and that array."""
    if not -len(args) <= argnums < len(args):
        raise ValueError(f"{name}: argnums={argnums} names no argument: got {len(args)} positional arguments")
    at = argnums % len(args)
    if not isinstance(args[at], jnp.ndarray) and tree.tree_structure(args[at]) != tree.tree_structure(0):
        raise TypeError(f"{name}: expected one array to differentiate by, got a {type(args[at]).__name__}; ravel_pytree makes "
                        "one of a pytree")
    x = jnp.asarray(array_arg(name, args[at]))
    if x.dtype not in dtypes.FLOATING:
        raise TypeError(f"{name}: expected an array of real floats to differentiate by, got {x.dtype.name}{list(x.shape)}")

    def one(x: Any) -> Any:
        out = fun(*args[:at], x, *args[at + 1:], **kwargs)
        if tree.tree_structure(out) != tree.tree_structure(0):
            raise TypeError(f"{name}: the function must return one array, got {tree.tree_structure(out)}")
        return jnp.asarray(out)
    return one, x


def _result(name: str, fun: Function, x: Any) -> ShapedArray:
    """The shape and dtype of what fun returns."""
    out = trace_to_jaxpr(lambda x: [fun(x)], [aval_of(x)])[0].outvars[0].aval
    if out.dtype not in dtypes.FLOATING:
        raise TypeError(f"{name}: the function must return real floats, got {out.str_short()}")
    return out


def _given(name: str, pattern: Any, shape: tuple[int, int]) -> Any:
    """A pattern that the user gives, as a boolean CSR matrix."""
    if isinstance(pattern, BCOO):
        if pattern.n_batch or pattern.n_dense:
            raise ValueError(f"{name}: a pattern needs sparse axes only, got {pattern!r}")
        places = np.ravel_multi_index(tuple(np.asarray(pattern.indices).T), pattern.shape)
        found = sparse.csr_matrix((np.ones(places.size, bool), np.divmod(places, shape[1])), shape=shape)
    else:
        matrix = pattern if sparse.issparse(pattern) else np.asarray(pattern).reshape(-1, max(shape[1], 1))
        found = sparse.csr_matrix(matrix != 0, dtype=bool)
    if found.shape != shape:
        raise ValueError(f"{name}: the pattern must have a row per result and a column per element of the argument, {shape}; "
                         f"got {found.shape}")
    found.sum_duplicates()
    return found


# ------------------------------------------------------------------------------------------------ patterns

def _dependence(linear: Callable[[Any, Any], Any], x: Any, tangent: ShapedArray) -> Any:
    """Which elements of linear(x, t) depend on which elements of t, as a CSR matrix."""
    jaxpr, consts = trace_to_jaxpr(lambda x, t: [linear(x, t)], [aval_of(x), tangent])
    needed, _ = dce_jaxpr(jaxpr, keep_inputs=True)
    found, = evaluate(needed, list(map(known, consts)), [None, identity(tangent.size)])
    table = found.table if isinstance(found, Rows) else empty(needed.outvars[0].aval.size, tangent.size)
    table.sum_duplicates()
    return table


def _tangent(fun: Function) -> Callable[[Any, Any], Any]:
    return lambda x, t: jvp(fun, (x,), (t,))[1]


def _jacobian_table(fun: Function, x: Any, out: ShapedArray, mode: str) -> Any:
    if mode == "reverse":
        return _dependence(lambda x, ct: vjp(fun, x)[1](ct)[0], x, out.strip_weak_type()).T.tocsr()
    return _dependence(_tangent(fun), x, aval_of(x).strip_weak_type())


def _as_bcoo(table: Any, shape: Sequence[int], data: Any = None) -> BCOO:
    """The elements of a CSR table in the places of an array of that shape."""
    rows, columns = table.nonzero()
    numbers = rows.astype(np.int64) * table.shape[1] + columns
    places = np.stack(np.unravel_index(numbers, (*shape, 1)), -1)[:, :-1]  # without the axis that keeps scalars legal
    indices = jnp.asarray(places.astype(np.int32))
    values = jnp.ones(rows.size, bool) if data is None else data
    return BCOO((values, indices), shape=tuple(shape), indices_sorted=True, unique_indices=True)


def jacobian_pattern(fun: Callable[..., Any], argnums: int = 0, *, mode: str = "auto") -> Callable[..., BCOO]:
    """The sparsity pattern of a Jacobian: which elements of a function's result depend on which elements of an argument.

    Found by propagating dependence through the program of the derivative, without its numbers: it holds for all values of the
    arguments. Known indices, masks and matrices count; where an index is traced, or an operation has no rule, an element
    depends on all that it may depend on.

    Args:
      fun, argnums: as of sparse_jacobian.
      mode: the program that is followed, "forward" (also "auto") or "reverse".

    Returns:
      A function of fun's arguments that returns a BCOO array of True, of the shape [*result, *argument].

    >>> import numjet.numpy as jnp
    >>> jacobian_pattern(lambda x: x[1:] * x[:-1])(jnp.ones(3)).todense().astype(int).tolist()
    [[1, 1, 0], [0, 1, 1]]
    """
    _check_mode("jacobian_pattern", mode)

    @wraps(fun)
    def pattern(*args: Any, **kwargs: Any) -> BCOO:
        one, x = _one_argument("jacobian_pattern", fun, argnums, args, kwargs)
        out = _result("jacobian_pattern", one, x)
        return _as_bcoo(_jacobian_table(one, x, out, mode), (*out.shape, *x.shape))
    return pattern


def hessian_pattern(fun: Callable[..., Any], argnums: int = 0) -> Callable[..., BCOO]:
    """The sparsity pattern of a Hessian: that of the gradient's Jacobian, made symmetric. See jacobian_pattern.

    >>> import numjet.numpy as jnp
    >>> hessian_pattern(lambda x: jnp.sum(x[1:] * x[:-1]))(jnp.ones(3)).todense().astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    @wraps(fun)
    def pattern(*args: Any, **kwargs: Any) -> BCOO:
        one, x = _one_argument("hessian_pattern", fun, argnums, args, kwargs)
        _check_scalar("hessian_pattern", _result("hessian_pattern", one, x))
        return _as_bcoo(_hessian_table(one, x), (*x.shape, *x.shape))
    return pattern


def _check_mode(name: str, mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {_MODES}, got {mode!r}")


def _check_scalar(name: str, out: ShapedArray) -> None:
    if out.shape:
        raise TypeError(f"{name}: the function must return a scalar, got shape {out.shape}")


def _hessian_table(fun: Function, x: Any) -> Any:
    table = _dependence(_tangent(grad(fun)), x, aval_of(x).strip_weak_type())
    return (table + table.T).tocsr()


# ------------------------------------------------------------------------------------------------ Jacobians

def sparse_jacobian(fun: Callable[..., Any], argnums: int = 0, *, pattern: Any = None, mode: str = "auto"
                    ) -> Callable[..., BCOO]:
    """The Jacobian of a function as a sparse array, from one product per colour of its pattern.

    Columns that share no row (forward mode), or rows that share no column (reverse mode), have one colour: one product finds
    them all. A banded Jacobian takes as many products as its band is wide, whatever its size.

    Args:
      fun: a function of arrays that returns an array of real floats.
      argnums: position of the argument to differentiate by: one array of real floats.
      pattern: where the Jacobian may have elements: a BCOO array, a matrix of scipy.sparse, or a dense array that is not zero
        there, with the shape [*result, *argument] or that of the matrix. Elements outside are taken to be zero, and spoil
        others if they are not. Default: jacobian_pattern of fun.
      mode: "forward" (a JVP per colour of columns), "reverse" (a VJP per colour of rows), or the one with fewer colours. The
        pattern of a function with custom_vjp is found in reverse mode only.

    Returns:
      A function of fun's arguments that returns a BCOO array of the shape [*result, *argument], with sorted, unique indices.
      It works under jit, which finds pattern and colouring once, vmap, and derivatives.

    Raises:
      TypeError: the argument or the result is a pytree, or of another dtype. ValueError: a pattern of another shape, an unknown
        mode, argnums out of range.

    Sources: Curtis, Powell, Reid 1974; Gebremedhin, Manne, Pothen 2005.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> j = nj.sparse_jacobian(lambda x: x[1:] * x[:-1])(jnp.array([1.0, 2.0, 3.0]))
    >>> j, j.todense().tolist()
    (BCOO(float32[2, 3], nse=4), [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    """
    _check_mode("sparse_jacobian", mode)

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> BCOO:
        one, x = _one_argument("sparse_jacobian", fun, argnums, args, kwargs)
        out = _result("sparse_jacobian", one, x)
        table = (_jacobian_table(one, x, out, mode) if pattern is None
                 else _given("sparse_jacobian", pattern, (out.size, x.size)))
        by_column = None if mode == "reverse" else colour_columns(table)
        by_row = None if mode == "forward" else colour_columns(table.T)
        return _as_bcoo(table, (*out.shape, *x.shape), _compressed(one, x, table, by_column, by_row))
    return jacobian


def _compressed(fun: Function, x: Any, table: Any, by_column: np.ndarray | None, by_row: np.ndarray | None) -> Any:
    """The elements of the Jacobian in the order of the table, by the direction with fewer colours."""
    rows, columns = table.nonzero()
    if by_row is None or by_column is not None and _count(by_column) <= _count(by_row):
        return _read(_forward_products(fun, x, by_column), by_column, columns, rows)
    return _read(_reverse_products(fun, x, by_row), by_row, rows, columns)


def _count(colours: np.ndarray | None) -> int:
    return 0 if colours is None else int(colours.max(initial=-1)) + 1


def _seeds(colours: Any, shape: Sequence[int], dtype: Any) -> Any:
    """For each colour the sum of its unit vectors."""
    return jnp.asarray((colours == np.arange(_count(colours))[:, None]).reshape(_count(colours), *shape)).astype(dtype)


def _read(products: Any, colours: Any, coloured: np.ndarray, others: np.ndarray) -> Any:
    """Element (coloured, other) is in the product of its colour."""
    return products.reshape(products.shape[0], prod(products.shape[1:]))[colours[coloured], others]


def _forward_products(fun: Function, x: Any, colours: Any) -> Any:
    seeds = _seeds(colours, x.shape, x.dtype)
    return vmap(functools.partial(_tangent(fun), x))(seeds)


def _reverse_products(fun: Function, x: Any, colours: Any) -> Any:
    out, pullback = vjp(fun, x)
    return vmap(lambda ct: pullback(ct)[0])(_seeds(colours, out.shape, out.dtype))


# ------------------------------------------------------------------------------------------------ Hessians

def sparse_hessian(fun: Callable[..., Any], argnums: int = 0, *, pattern: Any = None) -> Callable[..., BCOO]:
    """The Hessian of a scalar function as a sparse array, from one product with a vector per colour of its pattern.

    Star colouring uses the symmetry: an arrow matrix takes two products, where the Jacobian of the gradient needs one per
    column. Products are forward derivatives of the gradient.

    Args:
      fun: a function of arrays that returns a scalar.
      argnums: position of the argument to differentiate by: one array of real floats.
      pattern: as of sparse_jacobian, symmetric; the default is hessian_pattern of fun.

    Returns:
      A function of fun's arguments that returns a BCOO array of the shape [*argument, *argument]. See sparse_jacobian.

    Sources: Coleman, More 1984; Gebremedhin, Manne, Pothen 2005.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> nj.sparse_hessian(lambda x: x[0] * jnp.sum(x[1:] ** 2))(jnp.array([1.0, 2.0, 3.0])).todense().tolist()
    [[0.0, 4.0, 6.0], [4.0, 2.0, 0.0], [6.0, 0.0, 2.0]]
    """
    @wraps(fun)
    def hessian(*args: Any, **kwargs: Any) -> BCOO:
        one, x = _one_argument("sparse_hessian", fun, argnums, args, kwargs)
        _check_scalar("sparse_hessian", _result("sparse_hessian", one, x))
        table = _hessian_table(one, x) if pattern is None else _given("sparse_hessian", pattern, (x.size, x.size))
        if (table != table.T).nnz:
            raise ValueError("sparse_hessian: the pattern must be symmetric")
        return _as_bcoo(table, (*x.shape, *x.shape), _symmetric(one, x, table))
    return hessian


def _symmetric(fun: Function, x: Any, table: Any) -> Any:
    """The elements of the Hessian in the order of the table: (i, j) from the product with j's colour, where j is the only
    neighbour of i, or i itself, that has it; else from the product with i's."""
    colours = colour_symmetric(table)
    products = _forward_products(grad(fun), x, colours)
    i, j = table.nonzero()
    apart = i != j
    kinds = np.unique(i[apart].astype(np.int64) * max(_count(colours), 1) + colours[j[apart]], return_counts=True)
    repeated = np.isin(i.astype(np.int64) * max(_count(colours), 1) + colours[j], kinds[0][kinds[1] > 1]) & apart
    return _read(products, colours, np.where(repeated, i, j), np.where(repeated, j, i))
