"""Eager evaluation of one operation: by the record's eager slot, or compiled when it holds a program or its arrays are
large.

Results of the abstract slot for arrays and literals are cached, so that operations on them cost little more than their
NumPy function. Nothing is cached while jax_debug_nans, jax_debug_infs or jax_disable_jit is set: these are part of
the configuration token, which is part of the key.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks, transfers
from numjet.core.aval import ShapedArray, explicit, placements_in_use
from numjet.core.ir import ClosedJaxpr, Jaxpr, Literal, subjaxprs
from numjet.core.nan_checks import check_value
from numjet.core.op import Missing, Op, replaced
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace, escaped
from numjet.core.walk import first_mesh
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.runtime import dispatch, one_device
from numjet.runtime.device import CPU, choose, choose_for_mesh, devices_of_mesh, elsewhere, labels_in_use, other_platforms
from numjet.runtime.eager_compile import Compiled, is_large
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed

Array = _native.Array
_from_numpy = _native.from_numpy
_exact_items = _native.exact_items
_KEPT = 8192
_known: dict[tuple, Any] = {}  # aval of the result, or a tuple of them; or the program that runs the operation
_scalars: dict[Literal, np.ndarray] = {}


def evaluate(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of one operation: an Array, or a list of them. Raises what the record's abstract slot raises."""
    if replaced and op in replaced:
        return op.impl(*map(hooks.user_value, args), **params)
    if other_platforms and any(type(x) is Array and x.device is not CPU for x in args):
        return _evaluate_new(op, args, params)
    if labels_in_use and any(type(x) is Array and x._sharding is not None for x in args):
        return _labelled(op, args, params)
    try:
        if params:
            key = (op.abstract, config.token, *[x.aval for x in args], *_exact_items(params))
        elif len(args) == 1:
            key = (op.abstract, config.token, args[0].aval)
        elif len(args) == 2:
            key = (op.abstract, config.token, args[0].aval, args[1].aval)
        else:
            key = (op.abstract, config.token, *[x.aval for x in args])
        out = _known.get(key)
    except (AttributeError, TypeError):  # an operand without an aval, a parameter without a hash
        out = None
    if out is None:  # not within the handler: its exception would be shown above those of wrong calls
        return _evaluate_new(op, args, params)
    if type(out) is Compiled:
        return out(args)
    values = []
    for x in args:
        if type(x) is Array:
            values.append(x._value)
        elif type(x) is Literal:
            transfers.check_number(x.aval, CPU)
            values.append(_scalar(x))
        else:
            return _evaluate_new(op, args, params)
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        result = op.eager(*values, **params)
    finally:
        STATE.set(before)
    if type(out) is tuple:
        return [_array(op, r, aval) for r, aval in zip(result, out, strict=True)]
    return _array(op, result, out)


def _labelled(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """As evaluate, with arguments that have shardings over one device."""
    label = one_device.label_of(args)
    if label is None or not isinstance(op, Op) or op.places is not None:
        return _evaluate_new(op, args, params)
    avals = None
    if placements_in_use and not op.programs:
        types = [aval_of(x) for x in args]
        typed, known = explicit.abstract_or_auto(op, types, params)
        avals = (typed if op.multiple else [typed]) if known else None
        args = [one_device.labelled(x, None) if t.placement is not None else x for x, t in zip(args, types, strict=True)]
    out = _evaluate_new(op, args, params)
    outs = out if op.multiple else [out]
    wanted = one_device.labels_like(label, [x.aval for x in outs] if avals is None else avals)
    found = [one_device.labelled(x, s) for x, s in zip(outs, wanted, strict=True)]
    return found if op.multiple else found[0]


def _array(op: Op, result: Any, aval: ShapedArray) -> Any:
    """An Array of an immutable NumPy result."""
    if type(result) is not np.ndarray:
        result = np.asarray(result)
    if (result.dtype is not aval.dtype and result.dtype != aval.dtype) or result.shape != aval.shape:
        raise _unlike(op, result, aval)
    return _from_numpy(result, aval, CPU)


def _unlike(op: Op, result: np.ndarray, aval: ShapedArray) -> AssertionError:
    return AssertionError(f"{op.name}: eager gave {result.dtype}{result.shape}, abstract says {aval}")


def _evaluate_new(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    if not isinstance(op, Op):  # a user's primitive: its own function evaluates it
        return op.evaluate(args, params)
    dispatch.check_execution(op.name)
    if op.places is not None:
        return _placed(op, args[0], params)
    if not config.debug_key_reuse or not (op.programs or any(dtypes.is_key(aval_of(x).dtype) for x in args)):
        return _run(op, args, params)
    mark = hooks.key_use(op, args, params)
    out = _run(op, args, params)
    mark(out if op.multiple else [out])
    return out


def _placed(op: Op, x: Any, params: dict[str, Any]) -> Any:
    """An array under the sharding that an operation gives it."""
    array = dispatch.as_array(x)
    mesh = None if op.mesh is None or op.moves else op.mesh(**params)
    if mesh is not None:
        choose_for_mesh([array], op.name, mesh, _OPERANDS)  # raises where the operand is on other devices
    return dispatch.put_under(array, _over_devices(op.places(array.sharding, **params), array))


def _over_devices(sharding: Any, array: Any) -> Any:
    """The sharding over devices; of an abstract mesh over those of the mesh in use, else over those of an array."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None:
        return sharding
    if mesh.is_abstract:
        used, own = config.numjet_mesh, getattr(array.sharding, "mesh", None)
        if own is not None and (used is None or used.shape_tuple != mesh.shape_tuple):
            used = own if own.shape_tuple == mesh.shape_tuple else None
        if used is None:
            devices_of_mesh(mesh)  # raises
        mesh = explicit.mesh_like(used, mesh.axis_types)
    more = array.ndim - len(sharding.spec) if mesh.explicit_axes else 0  # as types have parts for all dimensions
    return sharding.update(mesh=mesh, spec=sharding.spec.update(partitions=(*sharding.spec, *[None] * more)))


_OPERANDS = ("x", "y", "z")


def _run(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    if op.mesh is not None or elsewhere():
        mesh = _mesh(op, params)
        device = choose(args, op.name, names=_OPERANDS) if mesh is None else choose_for_mesh(args, op.name, mesh, _OPERANDS)
        if device != CPU:
            return dispatch.run_operation(op, args, params, device)
    if op.compiled and not config.disable_jit:
        return dispatch.run_operation(op, args, params)
    program = _large_program(op, args, params) if fast_paths_allowed() else None
    return interpret(op, args, params) if program is None else program(args)


def _mesh(op: Op, params: dict[str, Any]) -> Any:
    """The mesh that an operation names, or one in its programs."""
    if op.mesh is not None:
        return op.mesh(**params)
    return next(filter(None, map(first_mesh, subjaxprs(params))), None) if op.programs else None


def _large_program(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Compiled | None:
    """The program that runs the operation on large arrays; None where NumPy does."""
    avals = [aval_of(a) for a in args]
    out = dispatch.result_types(op, avals, params)
    if not is_large(op, avals, out if op.multiple else [out]):
        return None
    try:
        program = Compiled(op, avals, params)
    except NotImplementedError:  # the backend has no code for these operands; the eager slot always runs
        return None
    _remember(op, args, params, avals, program)
    return program


def _remember(op: Op, args: Sequence[Any], params: dict[str, Any], avals: Sequence[ShapedArray], found: Any) -> None:
    """Caches the result of the abstract slot, or the compiled program, where it depends on the key alone and no values
    are checked."""
    if op.compiled or op.programs or op.effects is not None or op.collective is not None:
        return
    if not fast_paths_allowed() or not all(type(x) in _PLAIN for x in args):
        return
    if any(isinstance(v, (Jaxpr, ClosedJaxpr)) or (callable(v) and not isinstance(v, type)) for v in params.values()):
        return  # the cache must not keep alive what a function or program refers to
    key = (op.abstract, config.token, *avals, *_exact_items(params))
    try:
        hash(key)
    except TypeError:
        return
    if len(_known) >= _KEPT:
        _known.clear()
    _known[key] = tuple(found) if type(found) is list else found


def interpret(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """As evaluate, always by the eager slot, and without the cache of the abstract slot."""
    if not isinstance(op, Op):
        return op.evaluate(args, params)
    avals = [aval_of(a) for a in args]
    out = dispatch.result_types(op, avals, params)
    if isinstance(op.eager, Missing):
        raise NotImplementedError(f"'{op.name}' cannot be evaluated outside of a program: {op.eager.why}")
    for a, aval in zip(args, avals, strict=True):
        if type(a) is Literal:
            transfers.check_number(aval, CPU)
    values: list[Any] = [to_numpy(a, aval) for a, aval in zip(args, avals, strict=True)]
    if op.programs:  # arrays keep types that NumPy arrays lose: 64-bit numbers without jax_enable_x64, and weak ones
        values = [_from_numpy(v, aval, CPU) for v, aval in zip(values, avals, strict=True)]
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        result = op.eager(*values, **params)
    finally:
        STATE.set(before)
    if op.multiple:
        results = [_wrap(op, r, aval) for r, aval in zip(result, out, strict=True)]
    else:
        results = _wrap(op, result, out)
    _remember(op, args, params, avals, out)
    return results


def _scalar(x: Literal) -> np.ndarray:
    """The value of a literal as a NumPy array of rank 0."""
    found = _scalars.get(x)
    if found is None:
        if len(_scalars) >= _KEPT:
            _scalars.clear()
        found = _scalars[x] = np.asarray(x.val, x.aval.dtype)
        found.flags.writeable = False
    return found


_PLAIN = frozenset((Array, Literal))
_converters: dict[type, Callable[[Any, ShapedArray], np.ndarray]] = {
    Array: lambda x, aval: x._value, Literal: lambda x, aval: _scalar(x),
}


def to_numpy(x: Any, aval: ShapedArray) -> np.ndarray:
    """The value of anything that aval_of accepts, in its aval's dtype."""
    convert = _converters.get(type(x))
    if convert is not None:
        return convert(x, aval)
    if isinstance(x, Tracer):
        raise escaped(x)
    if hasattr(x, "__jax_array__"):
        return to_numpy(x.__jax_array__(), aval)
    if isinstance(x, np.ndarray):  # other threads may write it, and the result may be a view of it
        return dispatch.host_array(x, aval)._value
    return np.asarray(x).astype(aval.dtype, copy=False)


def _wrap(op: Op, result: Any, aval: ShapedArray) -> Any:
    """An Array of an immutable NumPy result."""
    value = np.asarray(result._value if type(result) is _native.Array else result)
    if value.dtype != aval.dtype or value.shape != aval.shape:
        raise _unlike(op, value, aval)
    if (config.debug_nans or config.debug_infs) and current_trace() is EVAL:  # else it is a constant of a program
        check_value(value, aval, op.name)
    return _from_numpy(value, aval, CPU)


hooks.set_evaluate(evaluate)
hooks.set_evaluate_own(_evaluate_new)
dispatch.forgetters.append(_known.clear)
