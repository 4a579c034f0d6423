"""Operations along the axis that an enclosing vmap(axis_name=...) maps over: psum, pmean, pmax, pmin, axis_index."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import LINEAR, ZERO, Missing, Op
from numjet.core.trace import aval_of
from numjet.foundation import tree
from numjet.lax.templates import call

_INT32 = np.dtype(np.int32)
_OUTSIDE = Missing("it needs an enclosing vmap with that axis_name")
_NO_HLO = Missing("it needs an enclosing vmap with that axis_name, which takes its place before programs are lowered")
Names = Any


def _outside(*_: Any, axes: tuple[Names, ...], **__: Any) -> Any:
    raise NameError(f"unbound axis name: {axes[0]}. Collectives work inside of vmap(..., axis_name={axes[0]!r}).")


def _other_batch(op: Callable[[], Op]) -> Callable[..., tuple[Any, int]]:
    """The batch rule for axes that the operation does not name: it acts element by element."""
    def batch(size: int, args: Sequence[Any], dims: Sequence[int], **params: Any) -> tuple[Any, int]:
        return op().bind(args[0], **params), dims[0]
    return batch


def _reduction(name: str, over: str, once: Callable[[Any, int], Any], **slots: Any) -> Op:
    """A reduction over the named axes; `once(x, size)` is the result for what is the same for all elements."""
    def collective(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Names, ...]) -> tuple[Any, None]:
        (x,), (d,) = args, dims
        x = once(x, trace.size) if d is None else call(over, x, axes=(d,))
        rest = tuple(a for a in axes if a != trace.axis_name)
        return (op.bind(x, axes=rest) if rest else x), None
    op = Op(name=name, params=("axes",), abstract=lambda x, *, axes: x, eager=_outside, batch=_other_batch(lambda: op),
            cpu=_OUTSIDE, hlo=_NO_HLO, samples=Missing("needs an axis"), collective=collective, **slots)
    return op


def _times(x: Any, size: int) -> Any:
    return call("mul", x, np.asarray(size, aval_of(x).dtype)[()])


psum_p: Op = _reduction("psum", "reduce_sum", _times, jvp=LINEAR, transpose=lambda ct, x, *, axes: psum_p.bind(ct, axes=axes))
pmax_p: Op = _reduction("pmax", "reduce_max", lambda x, size: x, jvp=Missing("pmax has no derivative, as in JAX"),
                    transpose=Missing("not linear"))
pmin_p: Op = _reduction("pmin", "reduce_min", lambda x, size: x, jvp=Missing("pmin has no derivative, as in JAX"),
                    transpose=Missing("not linear"))


def _index_collective(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *,
                      axes: tuple[Names, ...]) -> tuple[Any, int]:
    return call("iota", dtype=_INT32, shape=(trace.size,), dimension=0), 0


axis_index_p = Op(
    name="axis_index", params=("axes",), abstract=lambda *, axes: ShapedArray((), _INT32), eager=_outside, jvp=ZERO,
    transpose=Missing("no operands"), batch=Missing("no operands"), cpu=_OUTSIDE, hlo=_NO_HLO, samples=Missing("needs an axis"),
    collective=_index_collective)


# ------------------------------------------------------------------------------------------------ public

def _names(axis_name: Names) -> tuple[Names, ...]:
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def _refuse_groups(groups: Any) -> None:
    if groups is not None:
        raise NotImplementedError("axis_index_groups: only None is supported under vmap")


def psum(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The sum of a pytree over the elements that vmap(axis_name=...) maps over; every element gets it.

    NameError when no enclosing vmap has that name.
    """
    _refuse_groups(axis_index_groups)
    return tree.tree_map(lambda leaf: psum_p.bind(leaf, axes=_names(axis_name)), x)


def pmean(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The mean over the elements that vmap(axis_name=...) maps over. See psum."""
    count = psum(np.float32(1), axis_name, axis_index_groups=axis_index_groups)
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    return tree.tree_map(lambda leaf: call("div", leaf, call("convert_element_type", count, new_dtype=aval_of(leaf).dtype,
                                                             weak_type=False)), total)


def pmax(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The largest value among the elements that vmap(axis_name=...) maps over. See psum."""
    _refuse_groups(axis_index_groups)
    return tree.tree_map(lambda leaf: pmax_p.bind(leaf, axes=_names(axis_name)), x)


def pmin(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The smallest value among the elements that vmap(axis_name=...) maps over. See psum."""
    _refuse_groups(axis_index_groups)
    return tree.tree_map(lambda leaf: pmin_p.bind(leaf, axes=_names(axis_name)), x)


def axis_index(axis_name: Names) -> Any:
    """The number of this element along the axis that vmap(axis_name=...) maps over, int32."""
    return axis_index_p.bind(axes=(axis_name,))


def axis_size(axis_name: Names) -> Any:
    """How many elements vmap(axis_name=...) maps over, int32."""
    return psum(np.int32(1), axis_name)
