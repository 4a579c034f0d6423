"""The cost scale, and that no function is computed once per element of what it is broadcast to."""
from math import prod

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet.core.op import all_ops
from numjet.core.traits import TRANSCENDENTAL
from numjet.cpu.analysis.scalar_costs import COSTS, scalar_cost
from numjet.cpu.ir.nodes import ARITHMETIC, MATH, Exprs, For
from numjet.cpu.ir.traversal import blocks, nodes, operands, static_trips
from numjet.cpu.passes.legalize_math import expanded
from tests.cpu.traffic import lowered

N, M = 300, 400


def test_every_function_of_loop_ir_has_a_price():
    assert set(COSTS) == {*ARITHMETIC, *MATH} and min(COSTS.values()) == 1.0


@pytest.mark.parametrize("function", sorted(MATH))
def test_prices_follow_the_expansions(function):
    exprs, float32 = Exprs(), np.dtype(np.float32)
    result = expanded(exprs, exprs.make(function, float32, tuple(exprs.var(float32) for _ in range(MATH[function]))), False)
    operations = sum(scalar_cost(e.op) for e in nodes([result]) if e.op not in ("const", "var"))
    assert 0.25 * operations <= scalar_cost(function) <= 1.25 * operations


def evaluations(block, function, trips=1):
    """How often a function is evaluated by the statements of a block."""
    found = 0
    for stmt in block:
        found += trips * sum(e.op == function for e in nodes(operands(stmt)))
        inside = trips * static_trips(stmt) if isinstance(stmt, For) else trips
        found += sum(evaluations(inner, function, inside) for inner in blocks(stmt))
    return found


@pytest.mark.parametrize("name", sorted(n for n, op in all_ops().items() if op.function in MATH and op.nargs == 1))
def test_a_function_of_rows_is_computed_once_per_row(name):
    op = all_ops()[name]
    body = lowered(lambda x, y: op(x)[:, None] * y, jnp.full(N, 0.5), jnp.ones((N, M))).body
    assert evaluations(body, op.function) == N


def test_counting_sees_what_is_computed_per_element():
    body = lowered(lambda x, y: jnp.sinh(x[:, None] * y), jnp.full(N, 0.5), jnp.ones((N, M))).body
    assert evaluations(body, "sinh") == prod((N, M))


def test_transcendental_functions_are_priced_as_such():
    named = {op.function for op in all_ops().values() if TRANSCENDENTAL <= op.traits}
    assert named <= set(COSTS) and min(COSTS[f] for f in named) >= COSTS["sqrt"]
