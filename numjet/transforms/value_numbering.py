"""Value numbering: hashable keys of equations. Two equations with equal keys compute the same results."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal


def equation_key(eqn: JaxprEqn, operands: Sequence[Atom]) -> Any:
    """The key of an equation with the given operands, without what only errors tell of."""
    op, params = eqn.primitive, eqn.params
    told = params if not op.reports else {k: v for k, v in params.items() if k not in op.reports}
    return op, params_key(told), tuple(map(atom_key, operands))


def atom_key(a: Atom) -> Any:
    """A variable by identity, a literal by its bits: 0.0 and -0.0 differ, and a NaN equals itself."""
    if not isinstance(a, Literal):
        return a
    return np.asarray(a.val, a.aval.dtype).tobytes(), a.aval


def params_key(params: dict[str, Any]) -> Any:
    """The parameters by value; programs and functions by identity."""
    return tuple((k, value_key(v)) for k, v in sorted(params.items()))


def value_key(value: Any) -> Any:
    """As params_key, of one value. The type is part of the key: 1, 1.0 and True are different parameters."""
    exact = _EXACT.get(type(value))
    if exact is not None:
        return type(value), exact(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(value_key, value))
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value), value.dtype, value.shape, value.tobytes()
    if isinstance(value, (Jaxpr, ClosedJaxpr)) or callable(value):
        return id(value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value


_EXACT: dict[type, Callable[[Any], Any]] = {
    bool: bool, int: int, str: str, float: lambda v: np.float64(v).tobytes(), type(None): id,
    complex: lambda v: np.complex128(v).tobytes(),
}
