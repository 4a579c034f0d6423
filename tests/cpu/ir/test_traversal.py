"""Traversal: what each kind of statement consists of, and that rewriting finds the same."""
from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np
import pytest

from numjet.cpu.ir import nodes, traversal
from numjet.cpu.ir.nodes import Expr, For, GemmWithEpilogue, Stmt, SwapBuffers
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show_expr
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import (
    binds,
    blocks,
    expressions,
    loaded,
    locations,
    map_locations,
    map_operands,
    operands,
    postorder,
    reads,
    static_trips,
    swapped,
    touches,
    walk,
    writes,
    written,
)
from numjet.cpu.ir.types import identity

HEAD = """\
function f(x: float32[8], n: int64[1]) -> (y: float32[8], z: float32[8]) scratch 0 {
  temp t: float32[8]
  temp u: float32[8]
"""


class Parts(NamedTuple):
    """A statement as text, and what it consists of, as words of texts of expressions, names of variables and buffers."""
    text: str
    operands: str = ""
    binds: str = ""
    blocks: int = 0
    locations: str = ""
    reads: str = ""
    writes: str = ""


PARTS = {
    "Let": Parts("let a: float32 = x[3]", "x[3]", "a", reads="x"),
    "Store": Parts("store y[1] = x[2]", "1 x[2]", locations="y:1", reads="x", writes="y"),
    "Copy": Parts("copy y[1] = x[2] count n[0]", "1 2 n[0]", locations="y:1 x:2", reads="n x", writes="y"),
    "Fill": Parts("fill y[1] = x[2] count 3", "1 x[2] 3", locations="y:1", reads="x", writes="y"),
    "SwapBuffers": Parts("swap (t, u) = (u, t)", reads="t u", writes="t t.cell u u.cell"),
    "Call": Parts("call g(&x[1], 7, &y[2]) reads (x) writes (y) checked", "1 7 2", locations="x:1 y:2", reads="x", writes="y"),
    "Check": Parts("check lt(n[0], 4) code 1 values (n[0], 5)", "lt(n[0],4) n[0] 5", reads="n"),
    "Comment": Parts('note "sin" "file.py" 3'),
    "For": Parts("""for i in 1 .. n[0] vector (s: float32 = x[0]) {
        store y[i] = x[i]
        next s = add(s, z[i]) combine add z[i]
      } -> (r)""", "1 n[0] x[0] add(s,z[i]) z[i]", "i s r", 1, reads="n x z"),
    "While": Parts("""while (k: int64 = n[0]) {
        let b: bool = lt(k, 9)
        test b
        store y[0] = x[0]
        next k = add(k, 1)
      } -> (m)""", "b n[0] add(k,1)", "k m", 2, reads="n"),
    "If": Parts("""if lt(n[0], 1) {
        store y[0] = 1.0:float32
        yield (x[1], x[2])
      } else {
        yield (z[1], z[2])
      } -> (p: float32, q: float32)""", "lt(n[0],1) x[1] z[1] x[2] z[2]", "p q", 2, reads="n x z"),
    "Switch": Parts("""switch n[0] {
      case {
        yield (x[1])
      }
      case {
        store y[0] = 1.0:float32
        yield (x[2])
      }
      case {
        yield (x[3])
      }
      } -> (v: float32)""", "n[0] x[1] x[2] x[3]", "v", 3, reads="n x"),
    "GemmWithEpilogue": Parts("""gemm nj_gemm_epilogue(2, &x[1], &y[0]) reads (x) writes (y) rows (r0, r1) columns (c0, c1) {
        for j in r0 .. r1 serial () {
          store z[j] = y[j]
        } -> ()
      }""", "2 1 0", "r0 r1 c0 c1", 1, "x:1 y:0", "x", "y"),
}


def statement(kind: str) -> Stmt:
    (stmt,) = parse(f"{HEAD}{PARTS[kind].text}\n}}").body
    return stmt


def texts(exprs: list[Expr]) -> str:
    return " ".join(show_expr(e).replace(" ", "") for e in exprs)


def names(buffers) -> str:
    return " ".join(sorted({b.name for b in buffers}))


def test_every_kind_of_statement_is_here():
    assert set(PARTS) == {kind.__name__ for kind in get_args(nodes.Stmt)}


@pytest.mark.parametrize("kind", PARTS)
def test_parts_of_a_statement(kind):
    stmt, parts = statement(kind), PARTS[kind]
    assert type(stmt).__name__ == kind
    assert texts(operands(stmt)) == parts.operands
    assert texts(binds(stmt)) == parts.binds
    assert len(blocks(stmt)) == parts.blocks
    assert " ".join(f"{b.name}:{texts([index])}" for b, index in locations(stmt)) == parts.locations
    assert (names(reads(stmt)), names(writes(stmt))) == (parts.reads, parts.writes)
    assert touches(stmt) == reads(stmt) | {*writes(stmt)}


@pytest.mark.parametrize("kind", PARTS)
def test_mapping_visits_the_operands_in_order_and_replaces_each(kind):
    stmt, seen = statement(kind), []
    before = operands(stmt)
    exprs = nodes.Exprs()
    made = {id(e): exprs.var(e.dtype, "new") for e in before}
    map_operands(stmt, lambda e: seen.append(e) or made[id(e)])
    assert seen == before
    assert operands(stmt) == [made[id(e)] for e in before]


@pytest.mark.parametrize("kind", PARTS)
def test_mapping_places_replaces_buffers_and_indices(kind):
    stmt = statement(kind)
    before = locations(stmt)
    other, index = nodes.Buffer("other", np.dtype(np.float32), 8, "temp"), nodes.Exprs().index(5)
    map_locations(stmt, lambda b, i: (other, index))
    assert locations(stmt) == [(other, index)] * len(before)


def whole():
    return parse(HEAD + "".join(f"{p.text}\n" for p in PARTS.values()) + "}")


def test_walks_go_through_all_blocks_outer_before_inner():
    function = whole()
    kinds = [type(s).__name__ for s in walk(function.body)]
    assert kinds == [*list(PARTS)[:8], "For", "Store", "While", "Let", "Store", "If", "Store", "Switch", "Store",
                     "GemmWithEpilogue", "For", "Store"]
    assert len(expressions(function.body)) == sum(len(operands(s)) for s in walk(function.body))
    assert names(written(function.body)) == "t t.cell u u.cell y z"
    assert [b.name for b in swapped(function.body)] == ["t", "u"]
    assert names(loaded(expressions(function.body))) == "n x y z"


def test_rewriting_reaches_every_load_in_every_block():
    function = whole()
    zero = function.exprs.const(0, np.dtype(np.float32))
    Rewrite(function, lambda e: zero if e.op == "load" and e.dtype == zero.dtype else e).block(function.body)
    assert names(loaded(expressions(function.body))) == "n"


def test_nodes_come_once_users_first_or_operands_first():
    (store,) = parse(HEAD + "store y[0] = mul(add(x[0], x[1]), add(x[0], x[1]))\n}").body
    first, last = list(traversal.nodes([store.value])), list(postorder([store.value]))
    assert len(first) == len({e.id for e in first}) and {e.id for e in first} == {e.id for e in last}
    for order, sign in ((first, 1), (last, -1)):
        at = {e.id: k for k, e in enumerate(order)}
        assert all(sign * at[e.id] < sign * at[a.id] for e in order for a in e.args if e.op == "mul")
    assert last[-1] is first[0] is store.value


@pytest.mark.parametrize("bounds, trips", [("3 .. 10", 7), ("4 .. 4", 0), ("5 .. 2", 0), ("0 .. n[0]", None),
                                           ("n[0] .. 9", None)])
def test_static_trips(bounds, trips):
    (loop,) = parse(f"{HEAD}for i in {bounds} serial () {{\n}} -> ()\n}}").body
    assert isinstance(loop, For) and static_trips(loop) == trips


def test_a_swap_writes_its_cells_and_a_tile_is_written_by_its_product():
    swap, product = statement("SwapBuffers"), statement("GemmWithEpilogue")
    assert isinstance(swap, SwapBuffers) and isinstance(product, GemmWithEpilogue)
    assert {b.cell for b in swap.targets} <= {*writes(swap)}
    assert names(written([product])) == "y z"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint8", "uint64", "bool"])
@pytest.mark.parametrize("combine", ["add", "mul", "min", "max", "and", "or", "xor"])
def test_neutral_elements_change_nothing(combine, dtype):
    """To the bit: the sum of -0.0 and the neutral element is -0.0."""
    if dtype.startswith("float") and combine in ("and", "or", "xor"):
        return
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                 "or": np.bitwise_or, "xor": np.bitwise_xor}
    values = np.array([0, 1], dtype) if dtype == "bool" else np.array([0, 1, 3, 100], dtype)
    if dtype.startswith("float"):
        values = np.array([0.0, -0.0, 1.5, -np.inf, np.inf], dtype)
    neutral = identity(combine, np.dtype(dtype))
    assert neutral.dtype == dtype
    for left, right in ((values, neutral), (neutral, values)):
        assert functions[combine](left, right).tobytes() == values.tobytes()
