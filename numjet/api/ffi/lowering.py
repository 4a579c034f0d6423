"""Lowering rules of users' primitives that call C functions."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numjet.api.ffi.calls import ffi_call
from numjet.api.stages import ShapeDtypeStruct


def ffi_lowering(call_target_name: str, *, operand_layouts: Sequence[Any] | None = None,
                 result_layouts: Sequence[Any] | None = None, backend_config: Mapping[str, Any] | str | None = None,
                 skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable[..., list[Any]]:
    """A lowering rule for a primitive of the user's, for `mlir.register_lowering`: the primitive is a call of a C function.

    Args:
      call_target_name: the name under which the function was registered with `register_ffi_target`.
      operand_layouts, result_layouts: for each array None (row-major); or its axes in a tuple, from the fastest to the slowest
        in memory, which is XLA's order; or an object with `major_to_minor`.
      backend_config: attributes of every call. The primitive's parameters are attributes, too.
      lowering_args: has_side_effect. Others are those of MLIR's calls.

    Raises NotImplementedError for what numjet's calls do not have; errors of calls are those of `ffi_call`.

    >>> from numjet import ffi
    >>> from numjet.extend.core import Primitive
    >>> from numjet.interpreters import mlir
    >>> rms_norm = Primitive("rms_norm")
    >>> _ = mlir.register_lowering(rms_norm, ffi.ffi_lowering("rms_norm", backend_config={"eps": 1e-5}))
    """
    side_effect = lowering_args.pop("has_side_effect", False)
    if lowering_args or isinstance(backend_config, str) or skip_ffi_layout_processing:
        asked = [*lowering_args, *(["backend_config as text"] if isinstance(backend_config, str) else []),
                 *(["skip_ffi_layout_processing"] if skip_ffi_layout_processing else [])]
        raise NotImplementedError(f"ffi_lowering: numjet's calls of C functions have no {', '.join(asked)}; leave it out")
    config, ins, outs = dict(backend_config or {}), _from_slowest(operand_layouts), _from_slowest(result_layouts)

    def rule(ctx: Any, *operands: Any, **params: Any) -> list[Any]:
        results = [ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out]
        call = ffi_call(call_target_name, results, has_side_effect=side_effect, input_layouts=ins, output_layouts=outs)
        return call(*operands, **config, **params)

    return rule


def _from_slowest(layouts: Sequence[Any] | None) -> list[Any] | None:
    """Layouts with axes from the slowest to the fastest, as ffi_call takes them."""
    if layouts is None:
        return None
    return [tuple(reversed(x)) if isinstance(x, Sequence) else x for x in layouts]
