"""Traits of records, and what is checked when a record is made."""
import copy

import numpy as np
import pytest

import numjet as nj
from numjet.core.op import Missing, Op, all_ops
from numjet.core.traits import BROADCASTS, COMPACT, EXACT, MOVES
from numjet.cpu.ir.nodes import ARITHMETIC, MATH

SLOTS = dict.fromkeys(("abstract", "eager", "jvp", "transpose", "batch", "cpu", "hlo", "samples"), Missing("a test"))


def test_a_trait_holds_what_it_implies():
    assert BROADCASTS > COMPACT > MOVES > EXACT
    assert {n for n, op in all_ops().items() if BROADCASTS <= op.traits} == {"broadcast_in_dim"}


@pytest.mark.parametrize("fields, message", [
    ({"traits": frozenset({"exakt"})}, "these are no traits .*exakt"),
    ({"function": "sin"}, "only elementwise operations apply a function"),
    ({"function": "sin", "elementwise": True, "cost": 2.0}, "which gives their cost"),
    ({"carries": len, "programs": True}, "says which operands it replaces")])
def test_records_are_checked_when_they_are_made(fields, message):
    with pytest.raises(TypeError, match=message):
        Op(name="refused", **SLOTS, **fields)
    assert "refused" not in all_ops()


def test_records_do_not_change():
    with pytest.raises(AttributeError, match="'sin' does not change: give it 'eager' when it is made"):
        all_ops()["sin"].eager = np.cos


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_of_operations_have_their_rules_and_may_be_renamed(copied):
    floor = copied(all_ops()["floor"])  # its derivative is a marker, which is asked for by identity
    floor.name = "my_floor"
    assert all_ops()["floor"].name == "floor" and "my_floor" not in all_ops()
    assert nj.make_jaxpr(floor.bind)(1.5).eqns[0].primitive is floor
    assert nj.jit(floor.bind)(1.5) == 1 and nj.grad(floor.bind)(1.5) == 0
    assert nj.vmap(floor.bind)(np.float32([0.5, 1.5])).tolist() == [0, 1]


def test_functions_are_those_of_loop_ir():
    assert {op.function for op in all_ops().values()} - {None} <= {*ARITHMETIC, *MATH}


@pytest.mark.parametrize("name", sorted(n for n, op in all_ops().items() if op.part or op.shift))
def test_operations_that_take_parts_or_shift_only_place_elements(name):
    assert MOVES <= all_ops()[name].traits
