"""Values of rewritten functions: names without a value yet, truth, and variables as leaves of which some are traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from numjet.core.ir import Jaxpr
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import Tracer, aval_of, is_array_like
from numjet.core.walk import eval_jaxpr
from numjet.foundation import tree
from numjet.foundation.record import Record
from numjet.lax.elementwise.compare import ne

RESULT, VALUE = "the result", "the value"  # the names, in messages, of what `return` gives, and of an expression

FLAG = "ag__flag_"  # how names of flags begin that say which jump was taken


class Undefined:
    """A variable without a value: every use raises UnboundLocalError."""

    def __init__(self, name: str, why: str = "it is not assigned before it is used"):
        self._name, self._why = name, why

    def __repr__(self) -> str:
        return f"Undefined({self._name!r})"

    def _raise(self, *_: Any, **__: Any) -> NoReturn:
        raise UnboundLocalError(f"the variable '{self._name}' may have no value here: {self._why}. Give it a value in front of "
                                "the statement.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols that are asked for, not used
            raise AttributeError(name)
        self._raise()

    __jax_array__ = _raise


def _refuse_all_uses() -> None:
    pairs = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod"
    ones = "neg pos abs invert bool int float complex index len iter next call getitem setitem contains enter hash"
    comparisons = "eq ne lt le gt ge"
    names = [*ones.split(), *comparisons.split(),
             *[prefix + name for name in pairs.split() for prefix in ("", "r", "i")]]
    for name in names:
        setattr(Undefined, f"__{name}__", Undefined._raise)


_refuse_all_uses()


def is_traced(x: Any) -> bool:
    """Whether the value is not known while the function is traced."""
    if not isinstance(x, Tracer):
        return False
    known = x.concrete()
    return known is None or isinstance(known, Tracer)


def truth(x: Any) -> Any:
    """A Python bool for known values, else a traced boolean."""
    if not is_traced(x):
        return bool(x)
    if aval_of(x).shape:
        raise TypeError(f"the truth value of an array of shape {aval_of(x).shape} is ambiguous: use .any() or .all()")
    return x if aval_of(x).dtype == np.bool_ else ne(x, np.zeros((), aval_of(x).dtype))


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic)) or is_array_like(x)


def is_scalar_of_python(x: Any) -> bool:
    """Whether a value stays a Python value as long as it does not change."""
    return type(x) in (bool, int, float, complex)


def same(a: Any, b: Any) -> bool:
    """Whether two Python values are the same one, or equal immutable ones."""
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (bool, int, float, complex, str, bytes)) and (a == b or (a != a and b != b))


class Variable(Record):
    """The value of a variable: its leaves, and their structure; an undefined one has none."""

    value: Any
    leaves: list[Any]
    structure: Any

    @property
    def defined(self) -> bool:
        return not isinstance(self.value, Undefined)


def variable(value: Any) -> Variable:
    if isinstance(value, Undefined):
        return Variable(value, [], None)
    leaves, structure = tree.tree_flatten(value)
    return Variable(value, leaves, structure)


class Traced(Record):
    """What statements make of the variables: their new values, in which traced leaves stand for results of `jaxpr`."""

    jaxpr: Jaxpr
    consts: list[Any]
    variables: list[Variable]
    results: list[tuple[int, int]]  # of which variable and leaf each result is

    def run(self, *args: Any) -> dict[tuple[int, int], Any]:
        """The traced leaves, for values of the inputs."""
        return dict(zip(self.results, eval_jaxpr(self.jaxpr, self.consts, *args), strict=True))


def trace(run: Callable[..., Sequence[Any]], avals: Sequence[Any] = ()) -> Traced:
    """Traces statements once. run: inputs -> new values of all variables."""
    found: list[Variable] = []
    results: list[tuple[int, int]] = []

    def flat(*inputs: Any) -> list[Any]:
        found[:] = [variable(value) for value in run(*inputs)]
        results[:] = [(k, i) for k, v in enumerate(found) for i, leaf in enumerate(v.leaves)
                      if is_number(leaf) and not is_scalar_of_python(leaf)]
        return [found[k].leaves[i] for k, i in results]

    jaxpr, consts = trace_to_jaxpr(flat, list(avals))
    return Traced(jaxpr, consts, found, results)
