"""What code reads, and why nothing may be proven of it, from its instructions."""
from __future__ import annotations

from typing import Any

import pytest

from numjet.api.bytecode import codes, facts

jnp: Any = None
names: Any = None


def chain(x):
    return jnp.linalg.norm(x).shape + x.base


def pattern(x):
    match x:
        case object(__globals__=scope, real=r):
            return scope, r


def test_attributes_of_globals_and_of_others():
    known = facts(chain.__code__)
    assert known.globals == (("jnp", ("linalg", "norm")),)
    assert known.attributes == {"shape", "base"} and known.refused is None


def test_class_patterns_read_attributes():
    assert {"__globals__", "real"} <= facts(pattern.__code__).attributes


def test_many_names_need_prefixes_of_instructions():
    scope: dict[str, Any] = {}
    terms = " + ".join(f"m{k}.a{k}.b{k}" for k in range(300))
    exec(f"def f(x): return {terms} + x.last", scope)
    known = facts(scope["f"].__code__)
    assert known.globals == tuple(sorted((f"m{k}", (f"a{k}", f"b{k}")) for k in range(300))) and known.attributes == {"last"}


IN_ORDER = {
    "constant asked what it contains": "x if 'a' in {'a', 'b'} else -x",
    "keys iterated over": "[x[k] for k in x.keys()]",
    "items iterated over": "[v for k, v in x.items()]",
    "keys sorted": "sorted(x.keys())",
    "values": "list(x.values())",
}
IN_NO_ORDER = {
    "set": "list({x, 1})",
    "constant set": "[k for k in {'a', 'b'}]",
    "comprehension": "list({k for k in x})",
    "call": "list(set(x))",
    "frozen": "list(frozenset(x))",
    "union of keys": "list(x.keys() | x.keys())",
    "keys given to a function": "names(x.keys())",
    "items in a variable": "(lambda a: a - a)(x.items())",
}


def refused(expression: str) -> list[str]:
    code = eval(f"lambda x: {expression}").__code__
    return [why for one in codes(code) if (why := facts(one).refused) is not None]


@pytest.mark.parametrize("case", IN_ORDER)
def test_what_is_in_order(case):
    assert not refused(IN_ORDER[case])


@pytest.mark.parametrize("case", IN_NO_ORDER)
def test_orders_of_sets_differ_between_processes(case):
    assert any("order of a set" in why for why in refused(IN_NO_ORDER[case]))
