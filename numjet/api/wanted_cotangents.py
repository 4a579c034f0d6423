"""Cotangents as the caller wants them: added to mutable references, returned, or not computed."""
from __future__ import annotations

from typing import Any

from numjet.api.refs import addupdate
from numjet.core.refs import Ref
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.core.walk import eval_jaxpr
from numjet.foundation.tree import PyTreeDef, register_pytree_node, tree_flatten, tree_leaves, tree_unflatten
from numjet.transforms.dce import dce_jaxpr


class _Word:
    """An object that stands for nothing but itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class DontWant(_Word):
    """Asks that a cotangent is not computed."""

    __slots__ = ()


class GradValue(_Word):
    """Asks that a cotangent is returned."""

    __slots__ = ()


class DidntWant(_Word):
    """In place of a cotangent that was not computed: a pytree without leaves."""

    __slots__ = ()


class GradRef(_Word):
    """In place of a cotangent that was added to a reference: a pytree without leaves."""

    __slots__ = ()


register_pytree_node(DidntWant, lambda one: ((), None), lambda _, kids: DidntWant())
register_pytree_node(GradRef, lambda one: ((), None), lambda _, kids: GradRef())


def accumulate(pull: Any, wishes: tuple[Any, ...], *cotangents: Any) -> tuple[Any, ...]:
    """What pull(*cotangents), a function that vjp returned, gives the caller who has these wishes: see VJP.with_refs.

    Raises TypeError for wishes of another structure than the arguments'.
    """
    structure: PyTreeDef = pull.func.in_tree
    flat = _leaves_of(wishes, structure)
    values = iter(_computed(pull, flat, cotangents))
    results = [DidntWant() if isinstance(wish, DontWant) else _given(wish, next(values)) for wish in flat]
    return tree_unflatten(structure, results)


def _leaves_of(wishes: tuple[Any, ...], structure: PyTreeDef) -> list[Any]:
    """One wish per leaf of the arguments."""
    parts = structure.children()
    if len(wishes) != len(parts):
        raise TypeError(f"with_refs: expected one entry per argument of the function, {len(parts)}, got {len(wishes)}")
    flat: list[Any] = []
    for wish, part in zip(wishes, parts, strict=True):
        leaves, own = tree_flatten(wish)
        if wish is None:
            leaves = [DontWant()] * part.num_leaves
        elif own != part:
            raise TypeError(f"with_refs: expected references in the structure of the argument, {part}, got {own}")
        flat += leaves
    return flat


def _computed(pull: Any, wishes: list[Any], cotangents: tuple[Any, ...]) -> list[Any]:
    """The wanted cotangents; what only others need is not computed."""
    chosen = [k for k, wish in enumerate(wishes) if not isinstance(wish, DontWant)]
    pick = lambda found: [tree_leaves(found, is_leaf=lambda x: x is None)[k] for k in chosen]
    if len(chosen) == len(wishes):
        return pick(pull(*cotangents))
    leaves, tree = tree_flatten(cotangents)
    jaxpr, consts = trace_to_jaxpr(lambda *xs: pick(pull(*tree_unflatten(tree, xs))), [aval_of(x) for x in leaves])
    return eval_jaxpr(dce_jaxpr(jaxpr, keep_inputs=True)[0], consts, *leaves)


def _given(wish: Any, value: Any) -> Any:
    if not isinstance(wish, Ref):
        return value
    addupdate(wish, None, value)
    return GradRef()
