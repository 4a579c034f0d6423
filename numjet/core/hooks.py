"""Late-bound slots between layers: `evaluate`, `evaluate_own`, `host_array`, `literal_array` and `user_value` (set by
runtime), `simplify`, `key_use` and `program_bytes` (set by api), `cast`, `sharding_rule` and
`left_to_compiler` (set by lax), `methods` (set by numpy),
`types_above`, `call_above`, `raised_above` and `above` (set by as_jax)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.foundation.tree import tree_leaves


def _no_backend(op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    raise RuntimeError(f"{op.name}: no backend is loaded to evaluate operations; `import numjet` loads one")


evaluate: Callable[[Any, Sequence[Any], dict[str, Any]], Any] = _no_backend
"""evaluate(op, args, params): runs one operation now. Returns an Array, or a list of them for multiple results."""


def set_evaluate(fn: Callable[[Any, Sequence[Any], dict[str, Any]], Any]) -> None:
    global evaluate
    evaluate = fn


evaluate_own: Callable[[Any, Sequence[Any], dict[str, Any]], Any] = _no_backend
"""evaluate_own(op, args, params): as evaluate, by the operation's own record, whatever a user put in its place."""


def set_evaluate_own(fn: Callable[[Any, Sequence[Any], dict[str, Any]], Any]) -> None:
    global evaluate_own
    evaluate_own = fn


def _no_arrays(x: Any, aval: Any) -> Any:
    raise RuntimeError("no backend is loaded to make arrays; `import numjet` loads one")


def _unused(op: Any, args: Sequence[Any], params: dict[str, Any]) -> Callable[[Any], None]:
    return lambda outs: None


key_use: Callable[[Any, Sequence[Any], dict[str, Any]], Callable[[Any], None]] = _unused
"""key_use(op, args, params): looks, before an operation with programs runs, for random keys that it uses a second time; returns
a function that marks its results."""


def set_key_use(fn: Callable[[Any, Sequence[Any], dict[str, Any]], Callable[[Any], None]]) -> None:
    global key_use
    key_use = fn


host_array: Callable[[Any, Any], Any] = _no_arrays
"""host_array(x, aval): an Array of the host with a copy of a NumPy array."""


def set_host_array(fn: Callable[[Any, Any], Any]) -> None:
    global host_array
    host_array = fn


literal_array: Callable[[Any], Any] = lambda literal: _no_arrays(literal, literal.aval)
"""literal_array(literal): an Array with the value and type of a literal of a program, weak types included."""


def set_literal_array(fn: Callable[[Any], Any]) -> None:
    global literal_array
    literal_array = fn


user_value: Callable[[Any], Any] = lambda x: _no_arrays(x, None)
"""user_value(x): an operand for a rule that a user wrote: literals and NumPy values as Arrays, all else as it is."""


def set_user_value(fn: Callable[[Any], Any]) -> None:
    global user_value
    user_value = fn


simplify: Callable[[Any], Any] = lambda closed: closed
"""simplify(closed): the simplified program, for operations that hold programs and are evaluated now."""


def set_simplify(fn: Callable[[Any], Any]) -> None:
    global simplify
    simplify = fn


def _no_partitioner(sharding: Any, ndim: int) -> Any:
    raise RuntimeError("no backend is loaded that divides arrays; `import numjet` loads one")


hlo_sharding: Callable[[Any, int], Any] = _no_partitioner
"""hlo_sharding(sharding, ndim): a sharding as an object of jaxlib."""


def set_hlo_sharding(fn: Callable[[Any, int], Any]) -> None:
    global hlo_sharding
    hlo_sharding = fn


cast: Callable[[str], Any] = lambda to: _no_backend(to, (), {})
"""cast(to): the operation by which the type of a value of shards says something else of axes of the mesh: that it varies over
them ("varying", "reduced to varying"), or that cotangents are summands ("reduced")."""


def set_cast(fn: Callable[[str], Any]) -> None:
    global cast
    cast = fn


sharding_rule: Callable[[Any], Any] = lambda op: _no_backend(op, (), {})
"""sharding_rule(op): the rule that gives the placements of an operation's results, see core/sharding/explicit.py."""

left_to_compiler: Callable[[Any], Any] = lambda x: x
"""left_to_compiler(x): a value whose type no longer says how it is divided along Explicit axes."""


sums_rule: Callable[[Any, Sequence[Any]], Any] = lambda op, avals: _no_backend(op, (), {})
"""sums_rule(op, types of operands): the axes along which sums of an operation's results, and of cotangents, are still to be
made, see lax/sharding_rules.py."""

as_shards: Callable[[Any, Any], Any] = lambda x, aval: x
"""as_shards(x, aval): a value of shards, whose type says of sums what another one says, see lax/collective/sums.py."""

data_operands: Callable[[Any, Sequence[Any]], Any] = lambda op, avals: avals
"""data_operands(op, types of operands): the types of those in whose memory results are, see lax/sharding_rules.py."""


def set_explicit(rule: Callable[[Any], Any], without: Callable[[Any], Any], sums: Callable[[Any, Sequence[Any]], Any],
                 shards: Callable[[Any, Any], Any], data: Callable[[Any, Sequence[Any]], Any]) -> None:
    global sharding_rule, left_to_compiler, sums_rule, as_shards, data_operands
    sharding_rule, left_to_compiler, sums_rule, as_shards, data_operands = rule, without, sums, shards, data


with_tapes: dict[str, Any] = {}   # methods and operators of Arrays that answer repeated calls without Python


def set_methods(methods: dict[str, Any], *classes: type) -> None:
    """Gives array classes (Array, Tracer) their NumPy methods and operators."""
    for cls in classes:
        for name, fn in methods.items():
            setattr(cls, name, fn)


program_bytes: Callable[[Any], bytes] = lambda closed: _no_backend(closed, (), {})
"""program_bytes(closed): a program as bytes, the same for equal programs; ValueError for one that calls Python functions."""


def set_program_bytes(fn: Callable[[Any], bytes]) -> None:
    global program_bytes
    program_bytes = fn


types_above: dict[type, Callable[[Any], Any]] = {}
"""Users' classes of values above arrays, with what tells the type of a value."""

above: dict[str, Callable[..., Any]] = {}
"""Transformations, loops and branches of functions of such values, by name; each gets what it stands for first."""


class ResultAbove(TypeError):
    """A traced function returns values above arrays, where arrays are expected."""


def holds_above(values: Any) -> bool:
    """Whether a pytree has values above arrays."""
    return bool(types_above) and any(type(x) in types_above for x in tree_leaves(values))


call_above: Callable[..., Any] = lambda run, args, kwargs, always=False: None
"""call_above(run, args, kwargs): the result of a call with such values among its arguments, in a tuple, or None.
always: None is for no call. run(args, kwargs) calls the program of raised_above(function), which takes arrays in their
place."""

raised_above: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda fun: fun
"""raised_above(fun): the function of arrays in the place of values above them."""


def set_values_above(call: Callable[..., Any], raised: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    global call_above, raised_above
    call_above, raised_above = call, raised
