"""Body tracing: jaxprs of the functions that users give to loops, branches and calls, cached.

A traced body is cached with its function, as long as the function lives and its closure and globals are the same,
unchanged objects: a second call then neither traces nor compiles. Of modules, classes and objects that are only asked for
attributes, it is the attributes that count. Of a callable object the attributes count so; what its
class's methods name is taken as fixed, as JAX takes all. A lambda made anew for every call shares the cache of its
predecessors, if it holds no arrays.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from numjet import _native
from numjet.control.call.attribute_uses import attribute_uses, attributes
from numjet.control.call.jaxpr_transforms import without_consts
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.named_axes import scope as named_scope
from numjet.core.op import Op
from numjet.core.refs import Ref, returned_ref
from numjet.core.snapshots import snapshot
from numjet.core.stage import DebugInfo, ResultTree, Touched, trace_to_closed, trace_with_refs
from numjet.core.trace import Tracer
from numjet.core.user_functions import debug_info, where, without_tapes
from numjet.foundation import dtypes, locks, source, tree
from numjet.foundation.config import config
from numjet.foundation.dimension import computed_sizes
from numjet.foundation.record import Record

F = TypeVar("F", bound=Callable[..., Any])


class Body(Record):
    """A traced function: its program, whose first inputs are `consts`, and the structure of its result."""

    jaxpr: ClosedJaxpr
    consts: list[Any]
    out_tree: Any

    def skip(self, avals: Sequence[ShapedArray]) -> list[ShapedArray]:
        """The avals without those of the constants in front."""
        return list(avals[len(self.consts) :])


class Replay(Record):
    """A traced function that uses mutable references of outer traces. Its program takes their values last, and returns the new
    values of those that it writes last."""

    fun: Callable[..., Any]
    in_tree: Any
    in_avals: tuple[ShapedArray, ...]
    jaxpr: ClosedJaxpr
    out_tree: Any
    touched: tuple[Touched, ...]


class Captures(Exception):
    """A traced function used mutable references of outer traces: see ref_threading."""

    def __init__(self, touched: Sequence[Touched], replay: Replay | None = None):
        super().__init__()
        self.touched, self.replay = list(touched), replay


def _path(structure: Any, position: int) -> str:
    """The path of a leaf."""
    return tree.keystr(tree.treedef_paths(structure)[position])


def trace_body(fun: Callable[..., Any], in_tree: Any, in_avals: Sequence[ShapedArray], kind: str,
               captures: bool = False, info: DebugInfo | None = None) -> Body:
    """The program of `fun`, whose positional arguments have the structure `in_tree` (of a tuple).

    captures: the caller threads mutable references, so raise Captures where the function uses those of outer traces.
    info: what is known of the function, default: what it says itself.
    """
    fun = without_tapes(fun)
    key = _native.exact_key((in_tree, tuple(in_avals), kind, config.token, named_scope()))
    known = _recall(fun, key)
    if known is not None:
        return known
    results = ResultTree()

    def flat(*leaves: Any) -> list[Any]:
        out, out_tree = tree.tree_flatten(fun(*tree.tree_unflatten(in_tree, leaves)))
        results[:] = [out_tree]
        for k, x in enumerate(out):
            if isinstance(x, Ref):
                raise returned_ref(x, where(fun), kind, _path(out_tree, k))
        return out

    info = debug_info(fun, in_tree, kind, results) if info is None else info.replace(results=results)
    if captures:
        jaxpr, consts, touched = trace_with_refs(flat, in_avals, info)
        if touched:
            closed = ClosedJaxpr(jaxpr, consts)
            raise Captures(touched, Replay(fun, in_tree, tuple(in_avals), closed, results[0], tuple(touched)))
        closed = ClosedJaxpr(jaxpr, consts)
    else:
        closed = trace_to_closed(flat, in_avals, info)
    body = Body(without_consts(closed), closed.consts, results[0])
    _keep(fun, key, body)
    return body


class _Entry(Record):
    used: tuple[Any, ...]
    read: list[Any]  # copies of the NumPy arrays among `used`, as they were when the function was traced
    body: Body


_entries: weakref.WeakKeyDictionary[Callable[..., Any], dict[Any, _Entry]] = weakref.WeakKeyDictionary()
_shared: OrderedDict[Any, _Entry] = OrderedDict()  # of functions made anew for every call, by their code
_lock = locks.lock()
_MOST = 32  # bodies cached per function
_MOST_SHARED = 512
_MOST_USED = 256  # objects compared per function


def clear_cache() -> None:
    """Drops all traced functions."""
    with _lock:
        _entries.clear()
        _shared.clear()


def cached_with(owner: Callable[..., Any], wrapper: F) -> F:
    """Marks a wrapper of a user's function, so that its traces are cached with that function."""
    wrapper.owner = owner  # type: ignore[attr-defined]
    return wrapper


def _recall(fun: Any, key: Any) -> Body | None:
    if not _is_cached(fun):
        return None
    key = (_code(fun), _code(_owner(fun)), key)
    with _lock:
        entry = _entries.get(_owner(fun), {}).get(key) or _shared.get(key)
    if entry is None or not _same(entry.used, _used_by(fun)):
        return None
    return entry.body if all(map(operator.is_, entry.read, _read(entry.used))) else None


def _keep(fun: Any, key: Any, body: Body) -> None:
    if not _is_cached(fun) or any(isinstance(c, Tracer) for c in body.consts):
        return
    if computed_sizes.maker is not None:  # sizes are those of the program that is being traced
        return
    used = _used_by(fun)
    if used is None:
        return
    key, entry = (_code(fun), _code(_owner(fun)), key), _Entry(used, list(_read(used)), body)
    with _lock:
        own = _entries.setdefault(_owner(fun), {})
        if len(own) >= _MOST:
            own.clear()
        own[key] = entry
        if type(fun) is types.FunctionType and not body.consts and all(map(_is_lasting, used)):
            _shared[key] = entry
            if len(_shared) > _MOST_SHARED:
                _shared.popitem(last=False)


def _is_cached(fun: Any) -> bool:
    """Whether traces of a callable are cached: of functions, and of objects that equal themselves only, as in JAX."""
    kind = type(fun)
    if kind is types.FunctionType or kind is functools.partial:
        return True
    return kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__ and hasattr(fun, "__dict__") \
        and hasattr(fun, "__weakref__") and not isinstance(fun, type)


def _code(fun: Any) -> Any:
    """What a callable runs."""
    return fun.__code__ if type(fun) is types.FunctionType else type(fun)


def _owner(fun: Any) -> Any:
    owner = getattr(fun, "owner", fun)
    return owner if type(owner) is types.FunctionType else fun


def _used_by(fun: Any) -> tuple[Any, ...] | None:
    """The captured objects of a function, and of the functions among them: while these are the same objects, the program
    is the same. None when one of them is mutable (a list, a dict, an instance)."""
    found: list[Any] = []
    owner = _owner(fun)  # holds the cache entry, which must not hold it
    pending, seen = [fun], {fun}
    if type(fun) is not types.FunctionType:
        own = _attributes(fun)
        if not all(map(_is_fixed_attribute, own)):
            return None
        found += map(_identity, own)
        pending = [x for x in own if type(x) is types.FunctionType]
        seen.update(pending)
    while pending:
        one = pending.pop()
        own = _outside(one)
        found += [_identity(x) for x in own if x is not fun and x is not owner]
        if len(found) > _MOST_USED or not all(map(_is_fixed, own)):
            return None
        inner = [x for x in own if type(x) is types.FunctionType and x not in seen]
        seen.update(inner)
        pending += inner
    return tuple(found)


def _outside(fun: types.FunctionType) -> list[Any]:
    """What a function names outside of itself, and its defaults. Of what may change, but is only asked for attributes, these
    stand beside it."""
    code = fun.__code__
    named = list(zip(code.co_freevars, map(_content, fun.__closure__ or ()), strict=True))
    if source.is_internal(code):
        return [x for _, x in named]
    named += [(n, fun.__globals__.get(n)) for n in _names(code)]
    found: list[Any] = [*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values()]
    for name, x in named:
        read = attribute_uses(code).get(name) if _can_change(x) else None
        values = attributes(x, read) if read is not None else None
        found += [x] if values is None else [_Asked(x), *values]
    return found


def _can_change(x: Any) -> bool:
    """Whether an object is a module, a class or an object of the user's."""
    return not _is_fixed(x) and (isinstance(x, (types.ModuleType, type)) or hasattr(type(x), "__weakref__"))


class _Asked:
    """An object that a function asks for attributes only. A weak reference stands for it: it may hold the function."""

    def __init__(self, of: Any):
        self.identity = of if isinstance(of, (types.ModuleType, type)) else weakref.ref(of)


def _attributes(fun: Any) -> list[Any]:
    """What a callable object holds, but for the names that functools.update_wrapper writes."""
    if type(fun) is functools.partial:
        return [fun.func, *fun.args, *fun.keywords.items()]
    return [x for name, x in vars(fun).items() if name not in functools.WRAPPER_ASSIGNMENTS]


def _is_fixed_attribute(x: Any) -> bool:
    """Whether the attribute of a callable object is fixed: classes are, as data, and objects with a hash of their value."""
    if type(x) is tuple:
        return all(map(_is_fixed_attribute, x))
    return isinstance(x, type) or _is_fixed(x) or _has_hash(x)


def _has_hash(x: Any) -> bool:
    if type(x).__hash__ is object.__hash__ or isinstance(x, types.MethodType):
        return False
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _identity(x: Any) -> Any:
    """What stands for an object: for a function of numjet's, made anew around the user's function, its code; its contents are
    compared beside it."""
    if type(x) is _Asked:
        return x.identity
    return x.__code__ if type(x) is types.FunctionType and source.is_internal(x.__code__) else x


def _names(code: types.CodeType) -> list[str]:
    """The global names (and attributes) that a function and the functions within it mention."""
    inner = [n for c in code.co_consts if isinstance(c, types.CodeType) for n in _names(c)]
    return [*code.co_names, *inner]


_LASTING = (*(bool, int, float, complex, str, bytes, type(None), type, np.generic, np.dtype, np.ufunc),
            *(types.BuiltinFunctionType, types.CodeType, types.ModuleType, Op))


_BY_VALUE = frozenset({bool, int, str, bytes, frozenset})


def _is_lasting(x: Any) -> bool:
    """Whether a cache may hold an object: it lives as long as the program, or is small."""
    return isinstance(x, _LASTING) or (type(x) is types.FunctionType and "<locals>" not in x.__qualname__)


def _read(used: Iterable[Any]) -> Iterator[Any]:
    """Copies of the NumPy arrays among objects: the same copies as before while the arrays are unchanged."""
    for x in used:
        if isinstance(x, np.ndarray):
            yield snapshot(x)
        elif isinstance(x, (tuple, frozenset)):
            yield from _read(x)


_FIXED = (*(bool, int, float, complex, str, bytes, type(None), slice, np.generic, np.dtype, np.ufunc),
          *(types.FunctionType, types.BuiltinFunctionType, Op, _native.Array))
_FIXED_PACKAGES = frozenset({"numjet", "jax", "numpy", "math", "builtins", "ml_dtypes"})


def _is_fixed(x: Any) -> bool:
    """Whether an object is immutable, or a NumPy array, whose elements are compared."""
    if isinstance(x, (tuple, frozenset)):
        return all(map(_is_fixed, x))
    if isinstance(x, np.ndarray):
        return type(x) is np.ndarray and dtypes.is_array_dtype(x.dtype)
    if isinstance(x, (np.void, tree.Partial)):
        return False
    if isinstance(x, (types.ModuleType, type)):  # attributes of the user's own modules and classes may change
        name = x.__name__ if isinstance(x, types.ModuleType) else x.__module__
        return name.split(".")[0] in _FIXED_PACKAGES
    return isinstance(x, _FIXED) or type(x).__module__.split(".")[0] == "numjet"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _same(a: Sequence[Any], b: Sequence[Any] | None) -> bool:
    return b is not None and len(a) == len(b) and all(map(_is_same, a, b))


def _is_same(x: Any, y: Any) -> bool:
    if type(x) is tuple and type(y) is tuple:
        return _same(x, y)
    return x is y or (type(x) in _BY_VALUE and _native.exact_key(x) == _native.exact_key(y))
