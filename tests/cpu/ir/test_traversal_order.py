"""The native traversals visit what their definitions in Python visit, in the same order."""
from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np
import pytest

from numjet import _native
from numjet.cpu.ir.nodes import BOOL, INT64, Comment, Expr, Exprs, For, If, Stmt
from numjet.cpu.ir.traversal import blocks, lazy_postorder, nodes, postorder, walk

F32 = np.dtype(np.float32)


def preorder(roots: Sequence[Expr]) -> Iterator[Expr]:
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        top = stack.pop()
        if top.id not in seen:
            seen.add(top.id)
            yield top
            stack.extend(top.args)


def after_operands(roots: Sequence[Expr], known: Container[int], usual: bool) -> list[Expr]:
    found: dict[int, Expr] = {}

    def visit(e: Expr) -> None:
        if e.id in found or e.id in known:
            return
        for k, a in enumerate(e.args):
            if not (usual and e.op == "select_rare" and k == 1):
                visit(a)
        found[e.id] = e
    for root in roots:
        visit(root)
    return list(found.values())


def random_expressions(seed: int, count: int = 200) -> list[Expr]:
    rng, e = np.random.default_rng(seed), Exprs()
    made = [e.var(F32) for _ in range(3)]
    cond = e.var(BOOL)
    for _ in range(count):
        a, b = (made[k] for k in rng.integers(max(0, len(made) - 12), len(made), 2))
        rare = rng.random() < 0.2
        made.append(e.make("select_rare", F32, (cond, a, b)) if rare else e.prim(("add", "mul")[rng.integers(2)], a, b))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_expressions(seed):
    made = random_expressions(seed)
    roots = [made[-1], made[7], made[-5], made[-1]]
    known = {x.id for x in made[20:30]}
    assert nodes(iter(roots)) == list(preorder(roots))
    for skipped in ((), known, dict.fromkeys(known), frozenset(known)):
        for usual in (False, True):
            assert postorder(roots, skipped, usual) == after_operands(roots, skipped, usual)
    filled: dict[int, Expr] = {}
    for x in lazy_postorder(made[-1], filled, lambda x: x.args):
        assert all(a.id in filled for a in x.args)
        filled[x.id] = x
    assert list(filled.values()) == postorder([made[-1]])


def test_operands_that_go_in_a_circle_end_after_the_visits_allowed():
    e = Exprs()
    x = e.var(F32)
    y = e.prim("neg", x)
    asked: list[Expr] = []

    def circular(top: Expr) -> tuple[Expr, ...]:
        asked.append(top)
        return (y,) if top is x else (x,)
    assert list(lazy_postorder(y, {}, circular, visits=50)) == [] and len(asked) == 50


def test_deep_expressions():
    e = Exprs()
    x = e.var(F32)
    for _ in range(100_000):
        x = e.prim("neg", x)
    assert len(nodes([x])) == len(postorder([x])) == 100_001


def test_statements():
    e = Exprs()
    texts = [Comment(str(k)) for k in range(8)]
    inner = For(e.var(INT64), e.index(0), e.index(4), [texts[2], texts[3]])
    branch = If(e.var(BOOL), [inner, texts[4]], [texts[5]])
    body: list[Stmt] = [texts[0], For(e.var(INT64), e.index(0), e.index(4), [texts[1], branch, texts[6]]), texts[7]]
    order = [s for s in walk(body) if isinstance(s, Comment)]
    assert order == texts and walk([]) == [] and blocks(branch) == [branch.then, branch.orelse]


def test_what_is_no_expression():
    for function in (_native.expr_nodes, lambda x: _native.expr_postorder(x, ())):
        with pytest.raises(AttributeError):
            function([object()])
        with pytest.raises(TypeError):
            function(3)
    wrong = Expr("add", F32, [], None, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tuple"):
        nodes([wrong])
    with pytest.raises(ValueError, match="numbered from 0"):
        nodes([Expr("var", F32, (), "x", -1)])
