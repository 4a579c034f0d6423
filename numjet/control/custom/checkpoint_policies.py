"""Checkpoint policies: which values of the forward pass are kept for the backward pass; and names for values.

A policy is called for every operation of the forward pass, policy(operation, *avals, **params), and says whether its
results may be kept: True or Saveable, or an Offloadable, which names two kinds of memory; all other values are recomputed in
the backward pass. On the CPU the device's memory is the host's, so there an offloaded value is a kept one by its type only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from numjet.core.op import SCALARS, Op, Samples, Undefined
from numjet.core.traits import CONTRACTS, EXACT, SUMS_PRODUCTS
from numjet.foundation import tree
from numjet.lax.rewrites import itself
from numjet.lax.templates import ANY, elementwise

Policy = Callable[..., Any]  # -> bool, Saveable, Recompute or Offloadable

class _Answer:
    """What a policy may say instead of True or False."""

    __slots__ = ("keep",)

    def __init__(self, keep: bool):
        self.keep = keep

    def __bool__(self) -> bool:
        return self.keep

    def __repr__(self) -> str:
        return "Saveable" if self.keep else "Recompute"


Saveable, Recompute = _Answer(True), _Answer(False)


class Offloadable(NamedTuple):
    """What a policy says of results that are to wait in the memory `dst` and come back to `src`."""

    src: str
    dst: str


name_p = elementwise("name", params=("name",), accepts=ANY, eager=lambda x, name: x, jvp=lambda t, out, x, name: t,
                     transpose=lambda ct, x, name: ct if isinstance(x, Undefined) else None, cpu=lambda b, x, name: x,
                     hlo=SCALARS, traits=EXACT, rewrites=itself,
                     samples=Samples(params=({"name": "a"},), dtypes=("float32", "int32", "bool"), ulps=0))


def checkpoint_name(x: Any, name: str) -> Any:
    """The same values under a name for policies such as `save_only_these_names`.

    >>> import numpy as np
    >>> from numjet.control import checkpoint_name
    >>> checkpoint_name(np.ones(2), "hidden").tolist()
    [1.0, 1.0]
    """
    return tree.tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def everything_saveable(op: Op, *avals: Any, **params: Any) -> bool:
    """Keep everything, as without checkpoint."""
    return True


def nothing_saveable(op: Op, *avals: Any, **params: Any) -> bool:
    """Keep the inputs only."""
    return False


def dots_saveable(op: Op, *avals: Any, **params: Any) -> bool:
    """Keep the results of matrix products and convolutions."""
    return SUMS_PRODUCTS <= op.traits


def dots_with_no_batch_dims_saveable(op: Op, *avals: Any, **params: Any) -> bool:
    """Keep the results of matrix products without batch dimensions: those with weights, not those of attention."""
    if not CONTRACTS <= op.traits:
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


def _name_of(op: Op, params: dict[str, Any]) -> str | None:
    return params["name"] if op is name_p else None


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keep the values with these names."""
    names = frozenset(names_which_can_be_saved)
    return lambda op, *_, **params: _name_of(op, params) in names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keep all named values except these."""
    names = frozenset(names_not_to_save)
    return lambda op, *_, **params: op is name_p and params["name"] not in names


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keep all values except those with these names. (An unnamed copy of a value is kept, too, so name it where it is
    made.)"""
    names = frozenset(names_not_to_save)
    return lambda op, *_, **params: _name_of(op, params) not in names


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep what either policy keeps."""
    return lambda op, *avals, **params: policy_1(op, *avals, **params) or policy_2(op, *avals, **params)


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Keep the results of matrix products without batch dimensions, in the memory `offload_dst`."""
    answer = Offloadable(offload_src, offload_dst)
    return lambda op, *avals, **params: answer if dots_with_no_batch_dims_saveable(op, *avals, **params) else Recompute


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values with these names, the latter in the memory `offload_dst`.

    Raises:
      ValueError: a name is in both lists.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if saved & offloaded:
        raise ValueError("The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
                         f"`names_which_can_be_offloaded`. Got names_which_can_be_saved={names_which_can_be_saved}, "
                         f"names_which_can_be_offloaded={names_which_can_be_offloaded} and the intersection="
                         f"{sorted(saved & offloaded)}")
    answer = Offloadable(offload_src, offload_dst)

    def policy(op: Op, *_: Any, **params: Any) -> Any:
        name = _name_of(op, params)
        return Saveable if name in saved else answer if name in offloaded else Recompute

    return policy


checkpoint_policies = SimpleNamespace(everything_saveable=everything_saveable, nothing_saveable=nothing_saveable,
                                      dots_saveable=dots_saveable, checkpoint_dots=dots_saveable,
                                      dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
                                      checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
                                      save_only_these_names=save_only_these_names,
                                      save_any_names_but_these=save_any_names_but_these,
                                      save_anything_except_these_names=save_anything_except_these_names,
                                      save_from_both_policies=save_from_both_policies,
                                      offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
                                      save_and_offload_only_these_names=save_and_offload_only_these_names)
"""The ready-made policies, under their names."""
