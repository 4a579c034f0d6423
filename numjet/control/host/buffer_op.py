"""The operation `buffer_callback`: a call of a Python function that writes the memory of its results."""
from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from numjet.control.host.callback import METHODS, batch_by_method
from numjet.control.host.python_calls import HostFunction, called, lowered, run
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT, KEEPS_APART
from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.tree import PyTreeDef, tree_unflatten


class Buffer:
    """The memory of an operand, which is read-only, or of a result: NumPy and DLPack see it without a copy.

    Valid during the call only.

    >>> x = Buffer(np.zeros(2), False)
    >>> x.shape, x.writeable, np.asarray(x).tolist()
    ((2,), False, [0.0, 0.0])
    """

    def __init__(self, memory: np.ndarray, writeable: bool):
        self._view = memory.view()
        self._view.flags.writeable = writeable

    dtype = property(lambda self: self._view.dtype, doc="The NumPy dtype.")
    shape = property(lambda self: self._view.shape, doc="The sizes of the axes.")
    ndim = property(lambda self: self._view.ndim, doc="The number of axes.")
    writeable = property(lambda self: self._view.flags.writeable, doc="Whether it is the memory of a result.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._view, dtype, copy=copy) if copy or dtype not in (None, self.dtype) else self._view

    def __dlpack__(self, **options: Any) -> Any:
        return self._view.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._view.__dlpack_device__()


class ExecutionStage(enum.Enum):
    """The stages of a foreign call; Python functions are called to execute.

    >>> ExecutionStage.EXECUTE.name
    'EXECUTE'
    """
    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


class ExecutionContext:
    """What a call knows of the program that it is part of.

    >>> ExecutionContext().stage.name
    'EXECUTE'
    """

    stage = ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """The stream of a GPU: there is none."""
        raise JaxRuntimeError("XLA FFI GPU context is not available: numjet's programs run on CPUs")


class BufferFunction(HostFunction):
    """A Python function of (context, buffers of the results, *buffers of the operands). aliases: of operands, the results in
    whose memory they are passed."""

    def __init__(self, fun: Any, in_tree: PyTreeDef, outs: Sequence[ShapedArray], out_tree: PyTreeDef,
                 aliases: Mapping[int, int]):
        super().__init__("buffer_callback", fun, in_tree, outs)
        self.out_tree, self.aliases = out_tree, dict(aliases)

    def promising(self, outs: Sequence[ShapedArray]) -> BufferFunction:
        return BufferFunction(self.fun, self.in_tree, outs, self.out_tree, self.aliases)

    def evaluate(self, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
        ins, outs = list(operands), [np.zeros(a.shape, a.dtype) for a in self.outs]
        for i, k in self.aliases.items():
            outs[k][...] = ins[i]
            ins[i] = outs[k]
        args, kwargs = tree_unflatten(self.in_tree, [Buffer(x, False) for x in ins])
        self.fun(ExecutionContext(), tree_unflatten(self.out_tree, [Buffer(x, True) for x in outs]), *args, **kwargs)
        return outs


def _abstract(*avals: ShapedArray, callback: HostFunction, **_: Any) -> list[ShapedArray]:
    return list(callback.outs)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: HostFunction, **_: Any) -> Any:
    raise ValueError(f"Buffer callbacks do not support JVP: the derivative of {callback.where()} is not known. Please use "
                     "`jax.custom_jvp` to use callbacks while taking gradients.")


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: HostFunction, vmap_method: str | None,
           has_side_effect: bool) -> tuple[list[Any], list[int]]:
    if vmap_method is None:
        raise NotImplementedError("vmap is only supported for the buffer_callback primitive when vmap_method is one of "
                                  f"{', '.join(map(repr, METHODS))}. Got vmap_method=None.")
    return batch_by_method(buffer_callback_p, size, args, dims, callback, vmap_method,
                           {"vmap_method": vmap_method, "has_side_effect": has_side_effect})


buffer_callback_p = Op(name="buffer_callback", params=("callback", "vmap_method", "has_side_effect"), multiple=True,
                       abstract=_abstract, eager=run, jvp=_jvp, batch=_batch, cpu=lowered, hlo=called(),
                       transpose=Missing("a Python function is not known to be linear"), traits=EXACT | KEEPS_APART,
                       samples=Missing("calls Python"),
                       effects=lambda *, has_side_effect, **_: frozenset({effects.IO} if has_side_effect else ()))
