"""Dynamic axes: one program for all sizes of some axes of the arguments (docs/dynamic-shapes.md).

The arguments are copied to the front of arrays of a capacity, and the sizes are arguments of the program, in which they are
computed sizes: rules of padding keep what lies behind the elements out of all values. The results are cut. So results are those
of the same operations on the arrays themselves, and the program is compiled once per capacity.
"""
from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.api import stages
from numjet.api.arguments import placed
from numjet.api.dynamic import exact, generic
from numjet.api.dynamic.trace import PaddedTracer
from numjet.api.jit_stages import clear_native
from numjet.core import nan_checks
from numjet.core.aval import ShapedArray
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace
from numjet.foundation import source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import computed_sizes, is_symbolic
from numjet.foundation.record import Record
from numjet.foundation.util import function_name
from numjet.runtime import dispatch
from numjet.runtime.device import CPU, elsewhere

LEAST_CAPACITY = 256
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:<=\s*(\d+)\s*)?")


class Axis(Record):
    """An axis of an argument's array: its name, and the most elements, if the user says so."""

    name: str
    most: int | None


def parsed(text: Any) -> Axis:
    """`batch` or `batch <= 4096`. ValueError for anything else."""
    found = _NAME.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[2] == "0":
        raise ValueError(f"jit: dynamic_axes names axes as 'batch' or 'batch <= 4096', got {text!r}")
    return Axis(found[1], None if found[2] is None else int(found[2]))


class Spec:
    """The option `dynamic_axes`: per positional argument, or by parameter name, {axis: name} or None, or a pytree of such."""

    def __init__(self, given: Any):
        if not isinstance(given, (tuple, list, dict)):
            raise ValueError("jit: dynamic_axes is a tuple with an entry for each positional argument, or a dict by names of "
                             f"parameters, whose entries are {{axis: name}} or None; got {given!r}")
        self.by_name = _is_by_name(given)
        self.entries: Any = dict(given) if self.by_name else tuple(given)
        self.most: dict[str, int] = {}
        self.names: tuple[str, ...] = ()
        for leaf in tree.tree_leaves(self.entries, is_leaf=_is_axes):
            self._note(leaf)
        if not self.names:
            raise ValueError("jit: dynamic_axes names no axis: give an entry such as {0: 'batch'}")

    def _note(self, leaf: Any) -> None:
        if not _is_axes(leaf):
            raise ValueError(f"jit: an entry of dynamic_axes is {{axis: name}} or None, got {leaf!r}")
        for text in leaf.values():
            axis = parsed(text)
            if axis.name not in self.names:
                self.names = (*self.names, axis.name)
            if axis.most is not None:
                self.most[axis.name] = min(axis.most, self.most.get(axis.name, axis.most))

    def of_leaves(self, args: Sequence[Any], kwargs: dict[str, Any], parameters: Sequence[str]) -> list[dict[int, str]]:
        """For each leaf of (args, kwargs), the names of its dynamic axes."""
        if self.by_name:
            given = dict(zip(parameters, args, strict=False)) | kwargs
            if unknown := [name for name in self.entries if name not in given and name not in parameters]:
                raise ValueError(f"jit: dynamic_axes names the parameter '{unknown[0]}', which the function does not have")
            found = [self.entries.get(name) for name in parameters[:len(args)]]
            entries = [*found, *[None] * (len(args) - len(found))], {k: self.entries.get(k) for k in kwargs}
        else:
            if len(self.entries) > len(args):
                raise ValueError(f"jit: dynamic_axes has {len(self.entries)} entries, and the function was called with "
                                 f"{len(args)} positional arguments")
            entries = [*self.entries, *[None] * (len(args) - len(self.entries))], dict.fromkeys(kwargs)
        pairs = [*zip(args, entries[0], strict=True), *[(kwargs[k], entries[1][k]) for k in sorted(kwargs)]]
        return [axes for x, entry in pairs for axes in _spread(entry, x)]


def _is_by_name(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(k, str) for k in given)


def _is_axes(x: Any) -> bool:
    return isinstance(x, dict) and bool(x) and all(isinstance(k, int) for k in x)


def _spread(entry: Any, x: Any) -> list[dict[int, str]]:
    """The axes of every leaf of an argument: an entry stands for all leaves below it."""
    if entry is None:
        return [{}] * len(tree.tree_leaves(x))
    if _is_axes(entry):
        return [{axis: parsed(text).name for axis, text in entry.items()}] * len(tree.tree_leaves(x))
    if isinstance(entry, dict) and isinstance(x, dict):
        return [axes for key in sorted(x) for axes in _spread(entry.get(key), x[key])]
    if isinstance(entry, (tuple, list)) and isinstance(x, (tuple, list)) and len(entry) == len(x):
        return [axes for e, y in zip(entry, x, strict=True) for axes in _spread(e, y)]
    raise ValueError(f"jit: the entry {entry!r} of dynamic_axes does not fit the argument {tree.tree_structure(x)}")


class Sizes:
    """The capacities of a function: they grow by powers of two where no bound is given."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.capacity: dict[str, int] = dict(spec.most)

    def of_call(self, leaves: Sequence[Any], axes: Sequence[dict[int, str]]) -> dict[str, int]:
        """The size of each name, for which there is room from then on. ValueError as `check`."""
        found = self.check(leaves, axes)
        for name, n in found.items():
            if n > self.capacity.get(name, -1):
                self.capacity[name] = max(1 << (2 * n - 1).bit_length(), LEAST_CAPACITY)
        return found

    def check(self, leaves: Sequence[Any], axes: Sequence[dict[int, str]]) -> dict[str, int]:
        """The size of each name. ValueError where two arrays disagree, or one is too large."""
        found: dict[str, int] = {}
        for x, own in zip(leaves, axes, strict=True):
            shape = aval_of(x).shape if own else ()
            for axis, name in own.items():
                if not -len(shape) <= axis < len(shape):
                    raise ValueError(f"jit: dynamic_axes names axis {axis} of an argument of shape {shape}")
                if found.setdefault(name, shape[axis]) != shape[axis]:
                    raise ValueError(f"The arguments disagree about the dynamic axis '{name}': it has {found[name]} elements "
                                     f"in one array and {shape[axis]} in another. Axes of one name have one size.")
        for name, n in found.items():
            most = self.spec.most.get(name)
            if most is not None and n > most:
                raise ValueError(f"The dynamic axis '{name}' has {n} elements, more than '{name} <= {most}' in dynamic_axes.")
        return found


def padded_type(x: Any, axes: dict[int, str], capacity: dict[str, int]) -> Any:
    """The type of a padded array; what has no dynamic axis as it is."""
    if not axes:
        return x
    aval = aval_of(x)
    shape = list(aval.shape)
    for axis, name in axes.items():
        shape[axis] = capacity[name]
    return stages.ShapeDtypeStruct(tuple(shape), aval.dtype, weak_type=aval.weak_type)


def padded(x: Any, aval: ShapedArray) -> Any:
    """A copy of an array at the front of one of another shape; what lies behind it may be anything."""
    shape = aval_of(x).shape
    array = dispatch.as_array(x)
    if shape[1:] == aval.shape[1:] and array.device == CPU and array._remote is None and aval.dtype.names is None:
        whole = _native.empty(aval, CPU)  # of the pool, whose pages are mapped already
        value = np.asarray(array)
        ctypes.memmove(whole.unsafe_buffer_pointer(), value.ctypes.data, value.nbytes)
        return whole
    made = np.zeros(aval.shape, aval.dtype)  # pages of memory that nothing is written to cost nothing
    made[tuple(map(slice, shape))] = np.asarray(x)
    return dispatch.owned_array(made, aval)


class _Static(Record):
    """What a program for many sizes is compiled for: the capacities, and the dynamic axes of all leaves."""

    capacity: tuple[tuple[str, int], ...]
    axes: tuple[tuple[tuple[int, str], ...], ...]


def on_padded(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function (sizes, what is static, *padded arguments) -> results, for a jit with computed sizes."""
    def run(numbers: Any, held: _Static, *args: Any, **kwargs: Any) -> Any:
        maker = computed_sizes.maker
        dims = {name: maker.input_size(n, most, name) for (name, most), n in zip(held.capacity, numbers, strict=True)}
        leaves, structure = tree.tree_flatten((args, kwargs))
        packed = [_retyped(maker.trace, x, own, dims) for x, own in zip(leaves, held.axes, strict=True)]
        args, kwargs = tree.tree_unflatten(structure, packed)
        return fun(*args, **kwargs)

    run.__name__ = run.__qualname__ = function_name(fun)
    return run


ADDED = 2  # arguments that on_padded puts in front


class PaddedProgram(Record):
    """A compiled function with dynamic axes. inputs: the leaf that each input is, and (the number of a size among the leaves,
    of elements per unit of that, and how many less) if the program reads no more; outputs: the same of what it writes."""
    executable: Any
    inputs: list[tuple[int, tuple[int, int, int] | None]]
    outputs: list[tuple[int, int, int] | None]
    trimming: Any
    out_tree: Any


class Generic:
    """A function for all sizes of some axes. `call` is the slow path of its native call, which knows sizes that it has met."""

    def __init__(self, fun: Callable[..., Any], spec: Spec, parameters: Sequence[str], jitted: Callable[..., Any], plain: Any):
        """jitted: makes the Jitted of a function of sizes, what is static, and arguments. plain: the function jitted for known
        sizes, which traced calls and stages use."""
        self.spec, self.parameters, self.plain = spec, parameters, plain
        self.symbolic = exact.Traced()
        self.inner, self.staging = jitted(on_padded(fun)), jitted(exact.on_symbolic(fun, self.symbolic))
        self.sizes = Sizes(spec)
        self.places: dict[Any, list[dict[int, str]]] = {}   # the dynamic axes of all leaves, by the structure of the arguments
        self.known: dict[Any, list[generic.GenericProgram | _Known]] = {}  # by what such calls have in common
        self.entries = 0
        self.native: Callable[[], Any] = lambda: None   # the function that calls this one, if it lives

    @source.api_boundary
    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The result, and an entry for later calls with these sizes, or None."""
        leaves, structure = tree.tree_flatten((args, kwargs))
        if current_trace() is not EVAL or config.disable_jit or any(isinstance(x, Tracer) for x in leaves):
            return self.plain(*args, **kwargs), None
        axes = self.places.get(structure)
        if axes is None:
            axes = self.spec.of_leaves(args, kwargs, self.parameters)
        if _has_empty(leaves, axes):   # a first element, which programs may read, is not there
            self.sizes.check(leaves, axes)
            return self.plain(*args, **kwargs), None
        key = _key(leaves, axes, structure)
        made, numbers = self._find(key, leaves)
        if made is None:
            own = self.sizes.of_call(leaves, axes)
            try:
                made, numbers = self._prepared(args, kwargs, leaves, structure, axes, own, key), [*own.values()]
            except NotImplementedError:
                if key in self.known:   # for a few small sizes
                    return self.plain(*args, **kwargs), None
                raise
            if len(self.known) + len(self.places) >= MOST_KNOWN:
                self.known.clear()
                self.places.clear()
            self.places[structure] = axes
            if key is not None:
                self.known[key] = [*[one for one in self.known.get(key, []) if one.capacity == made.capacity], made]
        result = made.run(numbers, leaves)
        return result, None if key is None else self._entry(made, numbers, leaves)

    def _find(self, key: Any, leaves: Sequence[Any]) -> tuple[Any, list[int]]:
        """A program that is there for a call, and the sizes; or None."""
        for made in self.known.get(key, ()):
            numbers = made.numbers(leaves)
            if numbers is not None:
                return made, numbers
        return None, []

    def _entry(self, made: _Known, numbers: list[int], leaves: Sequence[Any]) -> Any:
        if self.entries >= MOST_ENTRIES:
            self.forget_entries()
            self.entries = 0
        self.entries += 1
        return made.entry(numbers, leaves)

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], structure: Any,
                  axes: list[dict[int, str]], found: dict[str, int], key: Any) -> Any:
        types = [padded_type(x, own, self.sizes.capacity) for x, own in zip(leaves, axes, strict=True)]
        capacity = {name: self.sizes.capacity[name] for name in found}
        held = _Static(tuple(capacity.items()), tuple(tuple(own.items()) for own in axes))
        args, kwargs = tree.tree_unflatten(structure, types)
        given = [k for k, dynamic in enumerate(_dynamic(self.inner, args, kwargs)) if dynamic]
        named = [(k, d, name) for k, own in enumerate(axes) for d, name in own.items()]
        numbers = [np.int32(n) for n in found.values()]
        if key is not None and not any(one.capacity == capacity for one in self.known.get(key, ())):
            made = self._exact((numbers, held, *args), kwargs, capacity, named, given)
            if made is not None and made.has_room(found):
                return made
        program = self.inner.padded_program((numbers, held, *args), kwargs, [*numbers, *(leaves[k] for k in given)])
        wanted = [ShapedArray(t.shape, t.dtype, t.weak_type) if axes[k] else None for k, t in enumerate(types)]
        return _Known(program, capacity, named, given, wanted)

    def _exact(self, args: tuple[Any, ...], kwargs: dict[str, Any], capacity: dict[str, int], named: list[tuple[int, int, str]],
               given: list[int]) -> generic.GenericProgram | None:
        """The program for all sizes that works without padding; None where the compiler finds none."""
        if nan_checks.checked_kinds() or self.staging.device is not None:
            return None
        traced = self.staging.trace(self.staging.take_apart(args, kwargs))
        self.staging.traces.clear()
        symbolic = self.symbolic.last
        return generic.made(symbolic, self.staging.name, traced.out_tree, capacity, named, given)

    def forget_entries(self) -> None:
        """Drops the entries of the native call."""
        native = self.native()
        if native is not None:
            clear_native(native)

    def clear_cache(self) -> None:
        """Drops all traces and compiled programs of this function."""
        self.known.clear()
        self.forget_entries()
        self.inner.traces.clear()
        self.plain.clear_cache()


MOST_ENTRIES = 4096   # sizes that the native call remembers
MOST_KNOWN = 256   # programs and structures of arguments that a function remembers


def _has_empty(leaves: Sequence[Any], axes: Sequence[dict[int, str]]) -> bool:
    """Whether a dynamic axis has no elements."""
    for x, own in zip(leaves, axes, strict=True):
        if own:
            shape = aval_of(x).shape
            if any(-len(shape) <= k < len(shape) and shape[k] == 0 for k in own):
                return True
    return False


_PLAIN = frozenset((bool, int, float, complex, str, type(None)))


def _key(leaves: Sequence[Any], axes: Sequence[dict[int, str]], structure: Any) -> Any:
    """What calls have in common that differ in the sizes of dynamic axes only; None where a leaf is neither a number nor an
    array on the CPU."""
    if elsewhere():
        return None
    types: list[Any] = []
    for x, own in zip(leaves, axes, strict=True):
        if type(x) in _PLAIN and not own:   # a number, or a static value
            types.append((type(x), _native.exact_key(x)))
            continue
        if type(x) is not np.ndarray and (type(x) is not _native.Array or x._remote is not None):
            return None
        aval = aval_of(x)
        shape = tuple(None if k in own or k - aval.ndim in own else n for k, n in enumerate(aval.shape)) if own else aval.shape
        types.append((aval.dtype, aval.weak_type, shape))
    return structure, config.trace_token(), tuple(types)


class _Known(Record):
    """A program, and what its calls need: the capacities by names of sizes, the dynamic axes of leaves, the leaves that are not
    static, and the types of those that are padded."""

    program: Any
    capacity: dict[str, int]
    axes: list[tuple[int, int, str]]
    given: list[int]
    wanted: list[ShapedArray | None]

    def numbers(self, leaves: Sequence[Any]) -> list[int] | None:
        """The sizes; None where two arrays disagree about one, or the program has no room for it."""
        found = generic.sizes_of(leaves, self.axes)
        return None if found is None or any(n > self.capacity[name] for name, n in found.items()) else [*found.values()]

    def run(self, numbers: list[int], leaves: Sequence[Any]) -> Any:
        """The results of a call."""
        count = len(numbers)

        def put(k: int, short: tuple[int, int, int] | None) -> Any:
            if k < count:
                return dispatch.as_array(np.int32(numbers[k]))
            at = self.given[k - count]
            x, aval = leaves[at], self.wanted[at]
            if aval is None:
                return dispatch.as_array(x)
            whole = _shortened(x, aval, short, numbers)
            return padded(x, aval) if whole is None else whole

        program, trimming = self.program, self.program.trimming
        if trimming is not None:
            trimming.check(numbers)
        outs = program.executable([put(k, short) for k, short in program.inputs])
        return tree.tree_unflatten(program.out_tree, outs if trimming is None else trimming.trimmed(outs, numbers))

    def entry(self, numbers: list[int], leaves: Sequence[Any]) -> Any:
        """The native call for these sizes: a view of the executable that takes the arguments as they are, or copies them to
        the front of memory for the capacity; None where they do not lie there as they are."""
        program, count = self.program, len(numbers)
        native = program.executable.native
        if type(native) is not _native.Executable or nan_checks.checked_kinds():
            return None
        kept, copied, avals = [], [], [aval_of(leaves[k]) for k in self.given]
        for k, short in program.inputs:
            wanted = None if k < count else self.wanted[self.given[k - count]]
            if wanted is not None and (avals[k - count].shape[1:] != wanted.shape[1:] or wanted.dtype.names is not None):
                return None
            copied.append(wanted is not None and not _is_short(avals[k - count].shape, wanted, short, numbers))
            kept.append(k - count if k >= count else len(avals) + k)
        outs = self._outputs(numbers)
        if outs is None:
            return None
        fixed = tuple(dispatch.as_array(np.int32(n)) for n in numbers)
        types = [*avals, *(x.aval for x in fixed)]
        share = max((n / self.capacity[name] for n, name in zip(numbers, self.capacity, strict=True)), default=1.0)
        view = native.view(tuple(types[k] for k in kept), tuple(a for a, _ in outs), tuple(copied),
                           tuple(whole for _, whole in outs), native.cost_ns * (1.0 if any(copied) else share))
        plan = tuple(("out", k) for k in range(program.out_tree.num_leaves))
        return _native.Entry(view, tuple(kept), (False,) * len(avals), tuple(avals), program.out_tree, plan, fixed=fixed)

    def _outputs(self, numbers: list[int]) -> list[tuple[ShapedArray, bool]] | None:
        """The types of the results, and whether the program may write more of them; None where they take far more memory."""
        program, trimming = self.program, self.program.trimming
        padded_avals = program.executable.out_avals
        if trimming is None:
            return [(a, False) for a in padded_avals]
        shapes = trimming.known_shapes(numbers)
        if shapes is None:
            return None
        outs = []
        for aval, shape, symbolic, short in zip(padded_avals, shapes, trimming.shapes, program.outputs, strict=True):
            if not is_symbolic(symbolic):
                outs.append((aval, False))
                continue
            whole = not _is_short(shape, aval, short, numbers)
            true = ShapedArray(shape, aval.dtype, aval.weak_type)
            if shape[1:] != aval.shape[1:] or (whole and aval.nbytes > MOST_ROOM + 4 * true.nbytes):
                return None
            outs.append((true, whole))
        return outs


MOST_ROOM = 4096   # bytes that a result may have beyond four times its own


def _dynamic(inner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[bool]:
    """Which leaves belong to arguments that are not static."""
    nums = placed(inner.static_nums, ADDED + len(args))
    flags = [k + ADDED not in nums for k, a in enumerate(args) for _ in tree.tree_leaves(a)]
    return flags + [k not in inner.static_names for k in sorted(kwargs) for _ in tree.tree_leaves(kwargs[k])]


def _shortened(x: Any, aval: ShapedArray, short: tuple[int, int, int] | None, numbers: Sequence[int]) -> Any:
    """The array itself under the padded type, if the program reads no more of it; else None. numbers: all sizes."""
    if not _is_short(aval_of(x).shape, aval, short, numbers):
        return None
    array = dispatch.as_array(x)
    return _native.resized(array, aval) if array.device == CPU and array._remote is None else None


def _is_short(shape: Sequence[int], aval: ShapedArray, short: tuple[int, int, int] | None, numbers: Sequence[int]) -> bool:
    """Whether a program that touches so much of an array of the padded type stays within one of the shape."""
    if short is None or not shape or shape[1:] != aval.shape[1:] or aval.dtype.names is not None:
        return False
    words = prod(shape[1:]) * (2 if aval.dtype.kind == "c" else 1)
    position, size, less = short
    return 0 < numbers[position] and numbers[position] * size - less <= shape[0] * words


def _retyped(trace: Any, x: Any, axes: Sequence[tuple[int, str]], dims: dict[str, Any]) -> Any:
    """A padded input as the array of dynamic size in it."""
    if not axes:
        return x
    shape = list(x.aval.shape)
    for axis, name in axes:
        shape[axis] = dims[name]
    return PaddedTracer(trace, x, ShapedArray(tuple(shape), x.aval.dtype, x.aval.weak_type))
