"""Stochastic first-order optimizers, as triples of functions on pytrees of parameters.

    opt_init, opt_update, get_params = adam(1e-3)
    state = opt_init(params)
    state = opt_update(step, grads, state)
    params = get_params(state)

A step size is a number or a schedule, a function of the step.
"""
from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.foundation import tree

__all__ = [
    "JoinPoint", "Optimizer", "OptimizerState", "Step", "adagrad", "adam", "adamax", "clip_grads", "constant",
    "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "map", "momentum", "nesterov", "optimizer",
    "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "safe_map", "safe_zip",
    "sgd", "sm3", "unpack_optimizer_state", "unzip2", "zip",
]

Step = int
Schedule = Callable[[Any], Any]


# -------------------------------------------------------------------------------------------- lists of equal length

def safe_zip(*sequences: Iterable[Any]) -> list[tuple[Any, ...]]:
    """zip as a list. ValueError for different lengths.

    >>> safe_zip([1, 2], [3, 4])
    [(1, 3), (2, 4)]
    """
    lists = [list(s) for s in sequences]
    if len({len(s) for s in lists}) > 1:
        raise ValueError(f"safe_zip() arguments must have equal lengths, got {[len(s) for s in lists]}")
    return list(builtins.zip(*lists, strict=True))


def safe_map(fun: Callable[..., Any], *sequences: Iterable[Any]) -> list[Any]:
    """map as a list. ValueError for different lengths.

    >>> safe_map(max, [1, 5], [3, 4])
    [3, 5]
    """
    return [fun(*values) for values in safe_zip(*sequences)]


def unzip2(xys: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second members of pairs.

    >>> unzip2([(1, 2), (3, 4)])
    ((1, 3), (2, 4))
    """
    listed = [(a, b) for a, b in xys]
    return tuple(a for a, _ in listed), tuple(b for _, b in listed)


map, zip = safe_map, safe_zip


# -------------------------------------------------------------------------------------------- construction


class OptimizerState(NamedTuple):
    """The state of an optimizer: the arrays of all parameters' states, a tuple for each, and how they are arranged.
    A pytree of those arrays."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda data, children: OptimizerState(children[0], *data))


class Optimizer(NamedTuple):
    """init_fn(params) -> state; update_fn(step, grads, state) -> state; params_fn(state) -> params."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


def _check(what: str, expected: Any, got: Any, kinds: tuple[str, str]) -> None:
    if got != expected:
        raise TypeError(f"optimizer update function {what}: {kinds[0]} {expected} and {kinds[1]} {got}.")


def optimizer(opt_maker: Callable[..., tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]],
              ) -> Callable[..., Optimizer]:
    """Decorator: functions on single arrays, init(x) -> state, update(step, grad, state) -> state and get_params(state) -> x,
    become an Optimizer of pytrees. A state is an array or a pytree of arrays.

    >>> import numjet.numpy as jnp
    >>> @optimizer
    ... def descent(step_size):
    ...     return (lambda x: x), (lambda i, g, x: x - step_size * g), (lambda x: x)
    >>> opt_init, opt_update, get_params = descent(0.5)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.0
    """
    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: Any) -> OptimizerState:
            leaves, structure = tree.tree_flatten(params)
            states, subtrees = unzip2([tree.tree_flatten(init(x)) for x in leaves])
            return OptimizerState(tuple(list(s) for s in states), structure, tuple(subtrees))

        def tree_update(i: Any, grads: Any, state: OptimizerState) -> OptimizerState:
            packed, structure, subtrees = state
            leaves, got = tree.tree_flatten(grads)
            _check("was passed a gradient tree that did not match the parameter tree structure with which it was initialized",
                   structure, got, ("parameter tree", "grad tree"))
            old = [tree.tree_unflatten(t, s) for t, s in zip(subtrees, packed)]
            states, after = unzip2([tree.tree_flatten(update(i, g, s)) for g, s in zip(leaves, old)])
            for one, other in zip(after, subtrees):
                _check("produced an output structure that did not match its input structure", other, one, ("input", "output"))
            return OptimizerState(tuple(list(s) for s in states), structure, subtrees)

        def tree_params(state: OptimizerState) -> Any:
            states = [tree.tree_unflatten(t, s) for t, s in zip(state.subtree_defs, state.packed_state)]
            return tree.tree_unflatten(state.tree_def, [get_params(s) for s in states])
        return Optimizer(tree_init, tree_update, tree_params)
    return make


Maker = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]


# -------------------------------------------------------------------------------------------- optimizers

@optimizer
def sgd(step_size: Any) -> Maker:
    """Stochastic gradient descent: x - step_size g.

    >>> opt_init, opt_update, get_params = sgd(0.5)
    >>> float(get_params(opt_update(0, 2.0, opt_init(3.0))))
    2.0
    """
    step_size = make_schedule(step_size)
    return (lambda x: x), (lambda i, g, x: x - step_size(i) * g), (lambda x: x)


@optimizer
def momentum(step_size: Any, mass: Any) -> Maker:
    """Gradient descent with momentum: Polyak 1964.

    >>> opt_init, opt_update, get_params = momentum(0.5, 0.9)
    >>> float(get_params(opt_update(0, 2.0, opt_init(3.0))))
    2.0
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity
    return _with_zeros, update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Maker:
    """Gradient descent with momentum, which looks ahead: Nesterov 1983.

    >>> opt_init, opt_update, get_params = nesterov(0.5, 0.5)
    >>> float(get_params(opt_update(0, 2.0, opt_init(3.0))))
    1.5
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity
    return _with_zeros, update, _first


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Maker:
    """Steps divided by the root of the sum of squared gradients: Duchi, Hazan, Singer 2011.

    >>> opt_init, opt_update, get_params = adagrad(0.5, 0.0)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.5
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + jnp.square(g)
        scale = _inverse_root(squares)
        mean = (1 - momentum) * (g * scale) + momentum * mean
        return x - step_size(i) * mean, squares, mean
    return _with_two_zeros, update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Maker:
    """Steps divided by the root of the running mean of squared gradients: Tieleman, Hinton 2012.

    >>> opt_init, opt_update, get_params = rmsprop(0.5, 0.75)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.0
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_square = state
        mean_square = mean_square * gamma + jnp.square(g) * (1 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean_square + eps), mean_square
    return _with_zeros, update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Maker:
    """rmsprop with momentum.

    >>> opt_init, opt_update, get_params = rmsprop_momentum(0.5, 0.75)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.0
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean_square, velocity = state
        mean_square = gamma * mean_square + (1 - gamma) * jnp.square(g)
        velocity = momentum * velocity + step_size(i) * g / jnp.sqrt(mean_square + eps)
        return x - velocity, mean_square, velocity
    return _with_two_zeros, update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Maker:
    """Adaptive moment estimation: Kingma, Ba 2014.

    >>> opt_init, opt_update, get_params = adam(0.5)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.5
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, square = state
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * jnp.square(g) + b2 * square
        count = jnp.asarray(i + 1, jnp.result_type(mean))
        unbiased, scale = mean / (1 - b1 ** count), jnp.sqrt(square / (1 - b2 ** count))
        return x - step_size(i) * unbiased / (scale + eps), mean, square
    return _with_two_zeros, update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Maker:
    """Adam with the largest instead of the mean square gradient: Kingma, Ba 2014.

    >>> opt_init, opt_update, get_params = adamax(0.5)
    >>> round(float(get_params(opt_update(0, 2.0, opt_init(3.0)))), 3)
    2.5
    """
    step_size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, top = state
        mean = (1 - b1) * g + b1 * mean
        top = jnp.maximum(b2 * top, jnp.abs(g))
        count = jnp.asarray(i + 1, jnp.result_type(mean))
        return x - step_size(i) / (1 - b1 ** count) * mean / (top + eps), mean, top
    return _with_two_zeros, update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Maker:
    """Adagrad with a number for each index of each axis, not for each element: Anil et al. 2019.

    >>> opt_init, opt_update, get_params = sm3(0.5, 0.0)
    >>> get_params(opt_update(0, jnp.array([2.0]), opt_init(jnp.array([3.0])))).tolist()
    [2.5]
    """
    step_size = make_schedule(step_size)

    def along(axis: int, ndim: int) -> tuple[Any, ...]:
        return tuple(slice(None) if k == axis else None for k in range(ndim))

    def init(x: Any) -> Any:
        if jnp.ndim(x) == 0:
            raise ValueError("sm3: parameters must have at least one axis, got a number; use adagrad")
        x = jnp.asarray(x)
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in x.shape]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, covers = state
        bound = functools.reduce(jnp.minimum, [c[along(k, x.ndim)] for k, c in enumerate(covers)])
        bound = bound + jnp.square(g)
        mean = (1 - momentum) * (g * _inverse_root(bound)) + momentum * mean
        covers = [jnp.max(bound, axis=tuple(d for d in range(x.ndim) if d != k)) for k in range(x.ndim)]
        return x - step_size(i) * mean, mean, covers
    return init, update, _first


def _inverse_root(x: Any) -> Any:
    return jnp.where(x > 0, 1.0 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0.0)


def _with_zeros(x: Any) -> Any:
    return x, jnp.zeros_like(x)


def _with_two_zeros(x: Any) -> Any:
    return x, jnp.zeros_like(x), jnp.zeros_like(x)


def _first(state: Any) -> Any:
    return state[0]


# -------------------------------------------------------------------------------------------- schedules

def constant(step_size: Any) -> Schedule:
    """The schedule of one step size.

    >>> constant(0.5)(7)
    0.5
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """step_size decay_rate ** (i / decay_steps).

    >>> exponential_decay(1.0, 2, 0.25)(1)
    0.5
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """step_size / (1 + decay_rate i / decay_steps); staircase: i / decay_steps is rounded down.

    >>> inverse_time_decay(1.0, 2, 1.0)(2)
    0.5
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """From step_size to final_step_size as (1 - i / decay_steps) ** power, constant from there on.

    >>> float(polynomial_decay(1.0, 2, 0.5)(1))
    0.75
    """
    def schedule(i: Any) -> Any:
        part = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return part ** power * (step_size - final_step_size) + final_step_size
    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k] where k boundaries are below i. ValueError unless there is one more value than boundaries.

    >>> float(piecewise_constant([2], [1.0, 0.5])(3))
    0.5
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if boundaries.ndim != 1 or values.ndim != 1 or values.shape[0] != boundaries.shape[0] + 1:
        raise ValueError(f"boundaries and values must be 1-D, with one more value, got {boundaries.shape} and {values.shape}")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A number as a constant schedule; a schedule as it is. TypeError for others.

    >>> make_schedule(0.5)(7)
    0.5
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(f"expected a number or a function of the step, got {type(scalar_or_schedule).__name__}")


# -------------------------------------------------------------------------------------------- gradients

def l2_norm(tree: Any) -> Any:
    """The root of the sum of all squared elements.

    >>> float(l2_norm({"a": 3.0, "b": 4.0}))
    5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in _leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients, scaled down so that l2_norm is at most max_norm.

    >>> [float(g) for g in clip_grads([3.0, 4.0], 2.5)]
    [1.5, 2.0]
    """
    norm = l2_norm(grad_tree)
    return tree.tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


def _leaves(values: Iterable[Any]) -> list[Any]:
    return tree.tree_leaves(values)


# -------------------------------------------------------------------------------------------- state as a pytree

class JoinPoint:
    """Marks the state of one parameter in the pytree that unpack_optimizer_state makes."""

    def __init__(self, subtree: Any):
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a pytree like the parameters, whose leaves are JoinPoints: for files.

    >>> state = momentum(0.1, 0.9).init_fn({"w": 1.0})
    >>> unpack_optimizer_state(state)["w"].subtree[0]
    1.0
    """
    states = [tree.tree_unflatten(t, s) for t, s in zip(opt_state.subtree_defs, opt_state.packed_state)]
    return tree.tree_unflatten(opt_state.tree_def, [JoinPoint(s) for s in states])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The inverse of unpack_optimizer_state. TypeError for leaves that are no JoinPoints.

    >>> state = momentum(0.1, 0.9).init_fn({"w": 1.0})
    >>> pack_optimizer_state(unpack_optimizer_state(state)).packed_state[0][0]
    1.0
    """
    points, structure = tree.tree_flatten(marked_pytree)
    if not all(isinstance(p, JoinPoint) for p in points):
        raise TypeError("pack_optimizer_state: expected a pytree of JoinPoints, as unpack_optimizer_state makes it")
    states, subtrees = unzip2([tree.tree_flatten(p.subtree) for p in points])
    return OptimizerState(tuple(list(s) for s in states), structure, tuple(subtrees))
