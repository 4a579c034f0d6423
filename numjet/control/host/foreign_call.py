"""The operation `ffi_call`: a call of a function in C, by its address. What it calls is made by `api/ffi`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.host.callback import METHODS, batch_by_method
from numjet.control.host.python_calls import HostFunction, called, lowered
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT, KEEPS_APART


def _abstract(*avals: ShapedArray, callback: HostFunction, **_: Any) -> list[ShapedArray]:
    return list(callback.outs)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: HostFunction, **_: Any) -> Any:
    raise ValueError(f"The FFI call to `{callback.where()}` cannot be differentiated. You can use `jax.custom_jvp` or "
                     "`jax.custom_vjp` to add support, or wrap its operands in `lax.stop_gradient`.")


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: HostFunction, vmap_method: str,
           has_side_effect: bool) -> tuple[list[Any], list[int]]:
    return batch_by_method(ffi_call_p, size, args, dims, callback, vmap_method,
                           {"vmap_method": vmap_method, "has_side_effect": has_side_effect})


def _run(*operands: Any, callback: HostFunction, **_: Any) -> list[Any]:
    return callback(*operands)


ffi_call_p = Op(name="ffi_call", params=("callback", "vmap_method", "has_side_effect"), multiple=True, abstract=_abstract,
                eager=_run, jvp=_jvp, transpose=Missing("a function in C is not known to be linear"), batch=_batch, cpu=lowered,
                hlo=called(), traits=EXACT | KEEPS_APART, samples=Missing("calls a function in C"),
                effects=lambda *, has_side_effect, **_: frozenset({effects.IO} if has_side_effect else ()))


def check_method(vmap_method: str) -> None:
    """ValueError for an unknown way to call a batch."""
    if vmap_method not in METHODS:
        raise ValueError(f"ffi_call: vmap_method must be None or one of {', '.join(map(repr, METHODS))}, got {vmap_method!r}")
