"""Inspection of a function without running it: make_jaxpr, eval_shape, and the shapes they take."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet import _native
from numjet.api.arguments import (
    check_arrays,
    check_callable,
    check_tracing,
    debug_info,
    flatten_result,
    path_names,
    resolve_static,
)
from numjet.api.ref_arguments import joined, split_off
from numjet.core import hooks
from numjet.core.aval import ShapedArray, explicit
from numjet.core.ir import ClosedJaxpr
from numjet.core.named_axes import with_named_axes
from numjet.core.sharding import manual_axes
from numjet.core.sharding.layouts import Format, check_concrete, sharding_of
from numjet.core.sharding.memory import Space, space_of
from numjet.core.stage import ResultTree, trace_with_refs
from numjet.core.trace import Array, aval_of, current_trace, is_array_like
from numjet.foundation import dtypes, events, lazy_import, source
from numjet.foundation.dimension import Dimension
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_map, tree_unflatten
from numjet.foundation.util import function_name, wraps
from numjet.lax.tangent import zeros_like_aval

placement = lazy_import.Module("numjet.api.sharding.placement")
refs = lazy_import.Module("numjet.api.refs")


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist: for eval_shape, lower and callbacks.

    >>> import numjet as nj
    >>> nj.ShapeDtypeStruct((2,), nj.numpy.float32).shape
    (2,)
    """

    _stands_for_array = True  # so that errors can say so

    __slots__ = ("shape", "dtype", "weak_type", "sharding", "manual_axis_type", "is_ref", "_layout")

    def __init__(self, shape: Sequence[int | Dimension], dtype: Any, *, sharding: Any = None, weak_type: bool = False,
                 manual_axis_type: Any = None, is_ref: bool = False):
        """is_ref: a mutable reference to such an array (new_ref), as an argument of jit(f).trace, lower and eval_shape.
        manual_axis_type: over which axes it varies, inside of shard_map."""
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        if manual_axis_type is not None:
            manual_axes.varying_axes(manual_axis_type)
        self.manual_axis_type = manual_axis_type
        self.shape, self.dtype = tuple(shape), dtypes.as_dtype(dtype)
        check_concrete("in a `ShapeDtypeStruct`", sharding)
        there = sharding_of(sharding)
        there = None if there is None else placement.of_struct(there, self.shape)
        self.weak_type, self.sharding, self.is_ref = weak_type, there, bool(is_ref)
        self._layout = sharding.layout if isinstance(sharding, Format) else None

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self.aval.size)
    format = property(lambda self: Format(self._layout, self.sharding))
    aval = property(lambda self: ShapedArray(self.shape, dtypes.canonicalize_dtype(self.dtype), self.weak_type,
                                             manual_axis_type=self.manual_axis_type))

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The shape, dtype and weak type of an array, and its sharding if it is committed to that.

        >>> import numjet as nj
        >>> nj.ShapeDtypeStruct.like(nj.numpy.ones((2, 3)))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        found = struct(abstract(x))
        return found.update(sharding=x.sharding) if type(x) is Array and x.committed else found

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some fields changed."""
        there = self.sharding if self._layout is None else self.format
        fields = {"shape": self.shape, "dtype": self.dtype, "sharding": there, "weak_type": self.weak_type,
                  "manual_axis_type": self.manual_axis_type, "is_ref": self.is_ref}
        return ShapeDtypeStruct(**{**fields, **changes})

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        ref = ", is_ref=True" if self.is_ref else ""
        there = f", sharding={self.sharding}" if self.sharding is not None else ""
        axes = f", manual_axis_type={self.manual_axis_type}" if self.manual_axis_type is not None else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.long_name(self.dtype)}{there}{weak}{axes}{ref})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak_type, self.manual_axis_type, self.is_ref

    def __len__(self) -> int:
        return len(self.aval)


def abstract(x: Any) -> ShapedArray:
    """The aval of an array or of anything with shape and dtype."""
    if isinstance(x, ShapedArray):
        return x
    if is_array_like(x):
        return aval_of(x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        found = ShapedArray(tuple(x.shape), dtypes.canonicalize_dtype(x.dtype), getattr(x, "weak_type", False),
                            manual_axis_type=getattr(x, "manual_axis_type", None))
        return explicit.typed(found, x.sharding) if _says_more(getattr(x, "sharding", None)) else found
    return aval_of(x)


STAND_INS = (ShapeDtypeStruct, ShapedArray)  # what says the type of an argument, for programs that are not run


def _says_more(sharding: Any) -> bool:
    """Whether a sharding says more of a type than shape and dtype do."""
    mesh = getattr(sharding, "mesh", None)
    return mesh is not None and bool(mesh.explicit_axes) or space_of(getattr(sharding, "memory_kind", None)) is not Space.Device


def struct(aval: ShapedArray) -> ShapeDtypeStruct:
    """An aval as a ShapeDtypeStruct."""
    there = aval.sharding if explicit.divides(aval) else None
    varying = aval.manual_axis_type if aval.vma else None
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=there, manual_axis_type=varying)


def make_jaxpr(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (), axis_env: Any = None,
               return_shape: bool = False) -> Callable[..., Any]:
    """The function that, given example arguments, returns the jaxpr of `fun` (a ClosedJaxpr, which prints as text).

    axis_env: pairs (name, size) of axes that collectives in `fun` may name, as if vmap mapped over them.
    With return_shape: a pair of it and the pytree of ShapeDtypeStructs of the result.

    >>> import numjet as nj
    >>> nj.make_jaxpr(lambda x: x + 1)(2.0)
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    """
    check_callable(fun)
    static, _ = resolve_static(fun, static_argnums, None)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    @source.api_boundary
    def make(*args: Any, **kwargs: Any) -> Any:
        with with_named_axes(axis_env or ()):
            if hooks.holds_above((args, kwargs)):
                closed = _program_below(fun, args, kwargs, static)
                return (closed, eval_shape(fun, *args, **kwargs)) if return_shape else closed
            closed, out_tree = trace_call(fun, args, kwargs, static, "make_jaxpr")
        if return_shape:
            return closed, tree_unflatten(out_tree, [struct(a) for a in closed.out_avals[:out_tree.num_leaves]])
        return closed
    make.__module__ = "jax"
    make.__name__, make.__qualname__ = f"make_jaxpr({function_name(fun)})", f"make_jaxpr({getattr(fun, '__qualname__', '')})"
    return make


def _program_below(fun: Callable[..., Any], args: Any, kwargs: Any, static: Sequence[int]) -> ClosedJaxpr:
    """The program of a function of values above arrays: of arrays in their place."""
    found: list[ClosedJaxpr] = []

    def run(given: Any, named: Any) -> tuple[None, list[None]]:
        closed, out_tree = trace_call(hooks.raised_above(fun), given, named, static, "make_jaxpr")
        found.append(closed)
        return None, [None] * len(out_tree.children()[1].children())

    hooks.call_above(run, args, kwargs)
    return found[0]


def trace_call(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], static: Sequence[int] = (),
               kind: str = "jit") -> tuple[ClosedJaxpr, PyTreeDef]:
    """The program of `fun` for example arguments, and the tree of its result. The values of mutable references are its last
    inputs, the new ones of those that it writes its last results."""
    dynamic = tuple(a for n, a in enumerate(args) if n not in static)
    leaves, in_tree = tree_flatten((dynamic, kwargs))
    names = lambda: path_names(fun, args, kwargs, static)
    leaves, given = split_off([ref_of_type(x) for x in leaves], names, function_name(fun), kind)
    described = [x for x in leaves if is_array_like(x) or not hasattr(x, "shape")]
    check_arrays(described, names, function_name(fun))
    out_tree = ResultTree()

    def flat(*xs: Any) -> list[Any]:
        values, named = tree_unflatten(in_tree, joined(xs, given))
        rest = iter(values)
        full = [a if n in static else next(rest) for n, a in enumerate(args)]
        return flatten_result(fun(*full, **named), out_tree, fun)
    check_tracing(fun, kind)
    # Users take the program apart from the arrays it closes over, so all of those are constants, whatever their values.
    with events.tracing(function_name(fun)):
        debug = debug_info(kind, fun, args, kwargs, static, out_tree)
        jaxpr, consts, _ = trace_with_refs(flat, [abstract(x) for x in leaves], debug, inlines=kind != "make_jaxpr")
    return ClosedJaxpr(jaxpr, consts), out_tree[0]


def ref_of_type(x: Any) -> Any:
    """A reference for a description of one, which has no value; all else as it is."""
    return refs.Ref(x.aval, x) if isinstance(x, ShapeDtypeStruct) and x.is_ref else x


def only_shapes_matter() -> bool:
    """Whether a function runs whose shapes are asked for, so that ShapeDtypeStructs may stand for values."""
    debug = getattr(current_trace(), "debug", None)
    return debug is not None and debug.kind == "eval_shape"


def value_of_type(x: Any) -> Any:
    """A value for a description of one, which functions whose shapes are asked for may return."""
    return zeros_like_aval(abstract(x)) if isinstance(x, ShapeDtypeStruct) else x


@source.api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of fun(*args, **kwargs), as a pytree of ShapeDtypeStructs, without computing anything.

    Arguments and results may be ShapeDtypeStructs, which stand for arrays.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.eval_shape(lambda a, b: a @ b, jnp.ones((2, 3)), nj.ShapeDtypeStruct((3, 4), jnp.float32)).shape
    (2, 4)
    """
    check_callable(fun)
    if hooks.types_above:
        above = hooks.call_above(lambda given, named: _shapes_below(fun, given, named), args, kwargs)
        if above is not None:
            return above[0]
    if type(fun) is _native.JitFunction:  # whose out_shardings are known
        return fun.eval_shape(*args, **kwargs)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def described(*inputs: Any, **named: Any) -> Any:
        return tree_map(value_of_type, fun(*inputs, **named))

    closed, out_tree = trace_call(described, args, kwargs, kind="eval_shape")
    return tree_unflatten(out_tree, [struct(a) for a in closed.out_avals[:out_tree.num_leaves]])


def _shapes_below(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[None]]:
    """The shapes of the arrays below the result; values that change are left as they are."""
    out, states = eval_shape(hooks.raised_above(fun), *args, **kwargs)
    return out, [None] * len(states)
