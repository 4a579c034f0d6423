"""Type promotion: JAX's lattice of dtypes, with weak types.

The order is the one that JAX publishes in "Type promotion semantics". Two dtypes promote to their least upper bound, and not
at all if there is none. A Python `int`, `float` or `complex` is weakly typed: it is below the dtypes of its kind, so that
it takes the dtype of the other operand. 64-bit results become 32-bit ones unless `jax_enable_x64` is set.
"""

from __future__ import annotations

import functools
from typing import Any, Literal, overload

import numpy as np

from numjet.foundation.config import config
from numjet.foundation.dimension import Dimension
from numjet.foundation.dtypes import table as t
from numjet.foundation.dtypes.table import DType, as_dtype, canonicalize_dtype, long_name
from numjet.foundation.errors import TypePromotionError


class Node:
    """One point of the lattice: a dtype, or the weak type of a Python scalar. Interned."""

    __slots__ = ("dtype", "name", "weak")

    def __init__(self, dtype: DType, weak: bool, name: str):
        self.dtype = dtype
        self.weak = weak
        self.name = name

    def __repr__(self) -> str:
        return self.name


_NODES: dict[DType, Node] = {dtype: Node(dtype, False, dtype.name) for dtype in t.ALL}
WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX = (
    Node(t.PYTHON_SCALARS[scalar], True, f"Python {scalar.__name__}") for scalar in (int, float, complex)
)
_WEAK_NODES: dict[DType, Node] = {
    **_NODES,  # bool is at the bottom, weak or not
    **dict.fromkeys(t.INTEGRAL, WEAK_INT),
    **dict.fromkeys(t.FLOATING, WEAK_FLOAT),
    **dict.fromkeys(t.COMPLEX, WEAK_COMPLEX),
}
_PYTHON_NODES: dict[Any, Node] = {
    bool: _NODES[t.bool_],
    int: WEAK_INT,
    float: WEAK_FLOAT,
    complex: WEAK_COMPLEX,
}


def _standard_edges() -> dict[Node, set[Node]]:
    """The published diagram: each node with the ones directly above it."""
    above: dict[Any, tuple[Any, ...]] = {
        t.bool_: (WEAK_INT,),
        WEAK_INT: (t.uint2, t.uint4, t.uint8, t.int2, t.int4, t.int8),
        t.uint8: (t.int16, t.uint16),
        t.uint16: (t.int32, t.uint32),
        t.uint32: (t.int64, t.uint64),
        t.uint64: (WEAK_FLOAT,),
        t.int8: (t.int16,),
        t.int16: (t.int32,),
        t.int32: (t.int64,),
        t.int64: (WEAK_FLOAT,),
        WEAK_FLOAT: (*t.SMALL_FLOATS, t.bfloat16, t.float16, WEAK_COMPLEX),
        t.bfloat16: (t.float32,),
        t.float16: (t.float32,),
        t.float32: (t.float64, t.complex64),
        t.float64: (t.complex128,),
        WEAK_COMPLEX: (t.complex64,),
        t.complex64: (t.complex128,),
    }
    return _as_nodes(above)


def _strict_edges() -> dict[Node, set[Node]]:
    """Python scalars take the dtype of their kind or a wider one; nothing else promotes."""
    return _as_nodes({ WEAK_INT: (WEAK_FLOAT, *t.INTEGRAL), WEAK_FLOAT: (WEAK_COMPLEX, *t.FLOATING), WEAK_COMPLEX: t.COMPLEX, })


def _as_nodes(above: dict[Any, tuple[Any, ...]]) -> dict[Node, set[Node]]:
    def node(x: Any) -> Node:
        return x if isinstance(x, Node) else _NODES[x]

    return {node(low): {node(high) for high in highs} for low, highs in above.items()}


def _upper_bounds(edges: dict[Node, set[Node]]) -> dict[Node, frozenset[Node]]:
    """Each node with everything reachable from it, itself included."""
    bounds: dict[Node, frozenset[Node]] = {}

    def reach(node: Node) -> frozenset[Node]:
        if node not in bounds:
            bounds[node] = frozenset((node,)).union(*(reach(high) for high in edges.get(node, ())))
        return bounds[node]

    for node in (*_NODES.values(), WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX):
        reach(node)
    return bounds


_BOUNDS = {"standard": _upper_bounds(_standard_edges()), "strict": _upper_bounds(_strict_edges())}


def _least_upper_bound(mode: str, nodes: tuple[Node, ...]) -> Node:
    bounds = _BOUNDS[mode]
    if len(nodes) == 1:
        return nodes[0]
    if any(node not in bounds for node in nodes):
        raise TypePromotionError(_no_keys(nodes))
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    least = [node for node in common if bounds[node] >= common]
    if not least:
        raise TypePromotionError(_no_path(mode, nodes))
    return least[0]


def _no_keys(nodes: tuple[Node, ...]) -> str:
    keys = next(node for node in nodes if t.is_key(node.dtype))
    return (f"Input dtypes {tuple(node.name for node in nodes)} have no available implicit dtype promotion path: dtype {keys} "
            "does not promote with others: its elements are not numbers")


def _no_path(mode: str, nodes: tuple[Node, ...]) -> str:
    names = tuple(dict.fromkeys(node.name for node in nodes))
    head = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        return (f"{head} when jax_numpy_dtype_promotion=strict. Cast the inputs to the dtype you want, for example "
                f"x.astype({nodes[0].dtype.name!r}), or set jax_numpy_dtype_promotion=standard.")
    strong = [node.dtype for node in nodes if not node.weak]
    if any(dtype in t.SMALL_FLOATS for dtype in strong):
        bits = min(t.itemsize_bits(dtype) for dtype in strong if dtype in t.SMALL_FLOATS)
        kind, target = f"{bits}-bit floats", "float32"
    else:
        kind, target = "2-bit and 4-bit integers", "int32"
    return f"{head}: {kind} do not support implicit promotion. Cast to the dtype you want, for example x.astype({target!r})."


def _node_of(x: Any) -> Node:
    """The lattice node of an array, aval, scalar, dtype or name."""
    found = _PYTHON_NODES.get(type(x))
    if found is not None:
        return found
    dtype = None if isinstance(x, (np.dtype, type, str)) else getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return _node_of_other(x)
    table = _WEAK_NODES if getattr(x, "weak_type", False) else _NODES
    found = table.get(dtype)
    return found if found is not None else _unusual(dtype, x)


def _node_of_other(x: Any) -> Node:
    if isinstance(x, type) and x in _PYTHON_NODES:
        return _PYTHON_NODES[x]
    for scalar in (bool, int, float, complex):
        if isinstance(x, scalar):
            return _PYTHON_NODES[scalar]
    if isinstance(x, (np.dtype, type, str)) or x is None:
        dtype = as_dtype(x)
        return _NODES.get(dtype) or _unusual(dtype, x)
    if isinstance(x, Dimension):
        return _PYTHON_NODES[int]
    raise TypeError(f"expected arrays, scalars or dtypes to promote, got {x!r} of type {type(x).__name__}")


@functools.cache
def _key_node(dtype: DType) -> Node:
    """Random keys promote with keys of their own dtype only."""
    return Node(dtype, False, long_name(dtype))


def _unusual(dtype: DType, x: Any) -> Node:
    native = as_dtype(dtype)
    if native in _NODES:
        return (_WEAK_NODES if getattr(x, "weak_type", False) else _NODES)[native]
    if t.is_key(native):
        return _key_node(native)
    if t.is_array_dtype(native):
        raise TypePromotionError(f"dtype {long_name(native)} does not promote: its elements are not numbers")
    raise TypeError(
        f"value {x!r} has dtype {native}, which arrays cannot have: expected bool, integers, floats, complex numbers"
    )


_NARROWED: dict[Node, Node] = {node: _NODES[t.NARROW.get(node.dtype, node.dtype)] for node in _NODES.values()}
_RESULTS: dict[tuple[Any, ...], tuple[DType, bool]] = {}


def _result(key: tuple[Any, ...]) -> tuple[DType, bool]:
    """Promotes `key[2:]` with 64 bits on or off (`key[0]`) in the mode `key[1]`; cached."""
    x64, mode, *nodes = key
    node = nodes[0] if len(nodes) == 1 else _least_upper_bound(mode, _distinct(nodes, x64))
    found = (canonicalize_dtype(node.dtype), node.weak)
    if len(_RESULTS) > 20_000:
        _RESULTS.clear()
    _RESULTS[key] = found
    return found


def _distinct(nodes: list[Node], x64: bool) -> tuple[Node, ...]:
    # Operands are narrowed to 32 bits first: int32 with uint64 is int32 with uint32.
    return tuple(dict.fromkeys(node if x64 else _NARROWED.get(node, node) for node in nodes))


def result_type_and_weakness(*args: Any) -> tuple[DType, bool]:
    """`result_type`, and whether the result is weakly typed."""
    if not args:
        raise ValueError("at least one array or dtype is required")
    key = (config.x64, config.dtype_promotion, *map(_node_of, args))
    return _RESULTS.get(key) or _result(key)


@overload
def result_type(*args: Any) -> DType: ...
@overload
def result_type(*args: Any, return_weak_type: Literal[True]) -> tuple[DType, bool]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
def result_type(*args: Any, return_weak_type: bool = False, return_weak_type_flag: bool = False) -> Any:
    """The dtype that `args` (arrays, scalars, avals, dtypes, names) promote to together.

    With `return_weak_type` (or JAX's name for it, `return_weak_type_flag`) also whether it is weak. Raises
    TypePromotionError where there is no path, ValueError without arguments.

    >>> result_type("int8", "uint8").name, result_type("float16", 1.0).name, result_type("int8", 1.0).name
    ('int16', 'float16', 'float32')
    """
    found = result_type_and_weakness(*args)
    return found if return_weak_type or return_weak_type_flag else found[0]


def lattice_result_type(*args: Any) -> tuple[DType, bool]:
    """As `result_type_and_weakness`, without narrowing to 32 bits.

    >>> lattice_result_type(1, 2.0)
    (dtype('float64'), True)
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    node = least_upper_bound(*args)
    return node.dtype, node.weak


def least_upper_bound(*args: Any) -> Node:
    """The least upper bound of `args` in the lattice; TypePromotionError if there is none."""
    nodes = tuple(dict.fromkeys(map(_node_of, args)))
    return nodes[0] if len(nodes) == 1 else _least_upper_bound(config.dtype_promotion, nodes)


def promote_types(a: Any, b: Any) -> DType:
    """The dtype that two dtypes (or names, or Python scalar classes) promote to, without narrowing to 32 bits.

    >>> promote_types("int32", "uint32").name, promote_types(float, "bfloat16").name
    ('int64', 'bfloat16')
    """
    return least_upper_bound(a, b).dtype


def common_dtype(a: Any, b: Any) -> DType:
    """As `promote_types`, by the standard rules whatever `jax_numpy_dtype_promotion` says: for intermediate results.

    >>> common_dtype("int32", "float16").name
    'float16'
    """
    nodes = tuple(dict.fromkeys(map(_node_of, (a, b))))
    return (nodes[0] if len(nodes) == 1 else _least_upper_bound("standard", nodes)).dtype


_REAL_PARTS: dict[DType, DType] = {t.complex64: t.float32, t.complex128: t.float64}


def to_numeric_dtype(dtype: Any) -> DType:
    """bool becomes int32 or int64 (as `jax_enable_x64` says); others stay."""
    found = as_dtype(dtype)
    return canonicalize_dtype(t.int64) if found == t.bool_ else found


def to_inexact_dtype(dtype: Any) -> DType:
    """The dtype in which functions like `sin` compute: float32 for bool and integers, float64 for 64-bit ones.

    >>> to_inexact_dtype("int8").name, to_inexact_dtype("bfloat16").name
    ('float32', 'bfloat16')
    """
    found = as_dtype(dtype)
    if found in t.INEXACT_SET:
        return found
    if found in t.NUMBER_SET:
        return canonicalize_dtype(t.float64) if found in (t.int64, t.uint64) else t.float32
    raise TypeError(f"expected a dtype of numbers, got {long_name(found)}")


def to_floating_dtype(dtype: Any) -> DType:
    """The real dtype in which functions compute: `to_inexact_dtype`, or the dtype of its parts if that is complex.

    >>> to_floating_dtype("complex64").name
    'float32'
    """
    found = to_inexact_dtype(dtype)
    return _REAL_PARTS.get(found, found)


def to_complex_dtype(dtype: Any) -> DType:
    """The complex dtype that holds numbers of a dtype: complex64, or complex128 for 64-bit ones.

    >>> to_complex_dtype("float32").name
    'complex64'
    """
    found = to_inexact_dtype(dtype)
    return t.complex128 if found in (t.float64, t.complex128) else t.complex64
