"""Derivatives of functions of sparse arrays with respect to their data: they are sparse arrays with the same indices."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numjet.numpy as jnp
from numjet.api import grad as _grad
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo import BCOO
from numjet.foundation import tree


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse array."""
    return isinstance(x, JAXSparse)


def _inner(args: Sequence[Any], argnums: int | Sequence[int]) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """What to differentiate by, with sparse arrays as their data; and the arguments, given such values."""
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    nums = tuple(n % len(args) for n in nums)
    chosen = args[nums[0]] if isinstance(argnums, int) else tuple(args[n] for n in nums)
    data = tree.tree_map(lambda x: x.data if is_sparse(x) else x, chosen, is_leaf=is_sparse)

    def arguments(values: Any) -> tuple[Any, ...]:
        found = tree.tree_map(lambda x, v: _with_data(x, v) if is_sparse(x) else v, chosen, values, is_leaf=is_sparse)
        given = dict(zip(nums, (found,) if isinstance(argnums, int) else found, strict=True))
        return tuple(given.get(n, x) for n, x in enumerate(args))
    return (chosen, data), arguments


def _with_data(x: Any, data: Any) -> Any:
    """The sparse array with other data."""
    buffers, rest = x.tree_flatten()
    return type(x).tree_unflatten(rest, (data, *buffers[1:]))


def _differentiated(transform: Callable[..., Any], fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool,
                    kwargs: dict[str, Any], build: Callable[[Any, Any], Any], value: bool = False) -> Callable[..., Any]:
    """The function that `transform` makes of fun, with derivatives by sparse arrays built from those by their data."""
    def call(*args: Any, **named: Any) -> Any:
        (chosen, data), arguments = _inner(args, argnums)
        out = transform(lambda v: fun(*arguments(v), **named), has_aux=has_aux, **kwargs)(data)
        rebuild = lambda d: build(chosen, d)
        if value:
            return out[0], rebuild(out[1])
        return (rebuild(out[0]), out[1]) if has_aux else rebuild(out)
    return call


def _gradients(chosen: Any, derivative: Any) -> Any:
    return tree.tree_map(lambda x, d: _with_data(x, d) if is_sparse(x) else d, chosen, derivative, is_leaf=is_sparse)


def _jacobians(chosen: Any, derivative: Any) -> Any:
    """Jacobians [*result, *data] as BCOO arrays whose batch axes are those of the result; a pytree of results has one each."""
    leaves, structure = tree.tree_flatten(chosen, is_leaf=is_sparse)

    def build(d: Any) -> Any:
        parts = structure.flatten_up_to(d)
        found = [_jacobian(x, p) if is_sparse(x) else p for x, p in zip(leaves, parts, strict=True)]
        return tree.tree_unflatten(structure, found)
    by_data = tree.tree_structure(tree.tree_map(lambda x: x.data if is_sparse(x) else x, chosen, is_leaf=is_sparse))
    return tree.tree_map(build, derivative, is_leaf=lambda d: tree.tree_structure(d) == by_data)


def _jacobian(x: Any, d: Any) -> BCOO:
    if not isinstance(x, BCOO):
        raise NotImplementedError(f"Jacobians by {type(x).__name__} arrays: convert it to BCOO")
    front = d.shape[:d.ndim - x.data.ndim]
    indices = jnp.broadcast_to(x.indices, (*front, *x.indices.shape))
    return BCOO((d, indices), shape=(*front, *x.shape), indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   **kwargs: Any) -> Callable[..., Any]:
    """As numjet.value_and_grad, for functions of sparse arrays: see sparse.grad.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> sparse.value_and_grad(lambda m: (m @ jnp.ones(2)).sum())(sparse.eye(2))
    (Array(2., dtype=float32), BCOO(float32[2, 2], nse=2))
    """
    return _differentiated(_grad.value_and_grad, fun, argnums, has_aux, kwargs, _gradients, value=True)


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """As numjet.grad, for functions of sparse arrays: the derivative by one is that by its data, with its indices.

    It never has other elements than the argument, which numjet.grad would refuse for its integer indices.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> sparse.grad(lambda m: (m @ jnp.array([3.0, 4.0])).sum())(sparse.eye(2)).todense().tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """
    return _differentiated(_grad.grad, fun, argnums, has_aux, kwargs, _gradients)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[...,
                                                                                                                        Any]:
    """As numjet.jacfwd, for functions of sparse arrays: the Jacobian by one has batch axes for the result, and its indices.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> sparse.jacfwd(lambda m: m @ jnp.ones(2))(sparse.eye(2))
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _differentiated(_grad.jacfwd, fun, argnums, has_aux, kwargs, _jacobians)


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[...,
                                                                                                                        Any]:
    """As sparse.jacfwd, by reverse mode.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> sparse.jacrev(lambda m: m @ jnp.ones(2))(sparse.eye(2))
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _differentiated(_grad.jacrev, fun, argnums, has_aux, kwargs, _jacobians)


jacobian = jacrev
