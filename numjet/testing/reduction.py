"""Delta debugging of random programs: a search for the smallest program that still fails.

Large steps come first: a single instruction or inner program alone, with its operands as arguments; then instructions are
left out or replaced by arguments; then expressions are simplified on their syntax tree: a call by one of its operands,
numbers by smaller ones, options left out. A step may give an invalid program: that does not fail alike, so it is rejected.
"""
from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from numjet.testing.grammar import infer
from numjet.testing.programs import Input, Instruction, Program, Value, free, renumbered, used

FRESH = 100_000  # numbers of new values


def reduce(p: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """The smallest program found in that time for which `fails` holds."""
    end = time.monotonic() + seconds
    seen = {_key(p)}
    live = renumbered(pruned(p))
    clean = pruned if fails(live) else lambda q: q  # unless the failure is in dead instructions
    better: Program | None = renumbered(clean(p))
    while better is not None:
        p, better = better, None
        for candidate in candidates(p):
            candidate = renumbered(clean(candidate))
            key = _key(candidate)
            if key in seen:
                continue
            seen.add(key)
            if time.monotonic() > end:
                return p
            if fails(candidate):
                better = candidate
                break
    return p


def _key(p: Program) -> str:
    return repr(p)


def candidates(p: Program) -> Iterator[Program]:
    """Smaller programs, largest steps first."""
    yield from alone(p)
    yield from fewer_results(p)
    yield from shorter(p)
    yield from unnested(p)
    yield from inside(p, shorter)
    yield from simpler_arguments(p)
    yield from simpler_texts(p)
    yield from inside(p, simpler_texts)


# ------------------------------------------------------------------------------------------------ large steps

def alone(p: Program) -> Iterator[Program]:
    """One instruction as the whole program, or an inner program."""
    if len(p.body) > 1:
        for i in reversed(p.body):
            yield _whole(p, used(i), (i,), i.outs)
    for i in p.instructions():
        for inner in i.programs:
            yield _whole(p, {**free(inner), **{v.id: v for v in inner.parameters}}, inner.body, inner.results)


def _whole(p: Program, needs: dict[int, Value], body: tuple[Instruction, ...], results: tuple[Value, ...]) -> Program:
    known = {i.value.id: i for i in p.inputs}
    inputs = tuple(known.get(v.id, _argument(v)) for v in needs.values())
    return Program(inputs, body, tuple(v for v in results if v.kind != "k"), p.x64)


def _argument(v: Value) -> Input:
    return Input(replace(v, weak=False), "normal", v.id + 1)


def pruned(p: Program) -> Program:
    """The program without dead instructions and arguments."""
    needed = {v.id for v in p.results}
    body: list[Instruction] = []
    for i in reversed(p.body):
        if any(v.id in needed for v in i.outs):
            i = replace(i, programs=tuple(map(_pruned_inner, i.programs)))
            needed |= set(used(i))
            body.insert(0, i)
    kept = [k for k, i in enumerate(p.inputs) if i.value.id in needed]
    donated = tuple(n for n, k in enumerate(kept) if k in p.donated)
    return replace(p, inputs=tuple(p.inputs[k] for k in kept), body=tuple(body), donated=donated)


def _pruned_inner(p: Program) -> Program:
    whole = pruned(replace(p, inputs=(), donated=()))
    return replace(p, body=whole.body)


def fewer_results(p: Program) -> Iterator[Program]:
    if p.donated:
        yield replace(p, donated=())
    if p.x64:
        yield replace(p, x64=False)
    if len(p.results) > 1:
        for v in p.results:
            yield replace(p, results=(v,))
        for v in p.results:
            yield replace(p, results=tuple(r for r in p.results if r != v))


def shorter(p: Program) -> Iterator[Program]:
    """The program without one instruction, whose results become arguments, or another value of their type."""
    for k in reversed(range(len(p.body))):
        i = p.body[k]
        rest = (*p.body[:k], *p.body[k + 1 :])
        if i.outs and not any(v.kind == "k" for v in i.outs):
            yield _defined(replace(p, body=rest), list(i.outs))
        for v in i.args:
            if len(i.outs) == 1 and (v.shape, v.dtype) == (i.outs[0].shape, i.outs[0].dtype):
                yield substituted(replace(p, body=rest), {i.outs[0].id: v})


def _defined(p: Program, values: list[Value]) -> Program:
    """Values as arguments of a whole program; of an inner one, free (see `inside`)."""
    if p.inputs and not isinstance(p.inputs[0], Input):
        return p
    return replace(p, inputs=(*p.inputs, *(_argument(v) for v in values)))


def unnested(p: Program) -> Iterator[Program]:
    """An instruction that holds programs replaced by the body of one of them."""
    for k, i in enumerate(p.body):
        for inner in i.programs:
            body = (*p.body[:k], *inner.body, *p.body[k + 1 :])
            names: dict[int, Value] = {}
            missing = list(inner.parameters)
            for v in list(missing):
                same = [a for a in i.args if (a.shape, a.dtype) == (v.shape, v.dtype)]
                if same:
                    names[v.id] = same[0]
                    missing.remove(v)
            for v in i.outs:
                same = [r for r in inner.results if (r.shape, r.dtype) == (v.shape, v.dtype)]
                if same:
                    names[v.id] = names.get(same[-1].id, same[-1])
                else:
                    missing.append(v)
            yield substituted(_defined(replace(p, body=body), missing), names)


def inside(p: Program, step: Callable[[Program], Iterator[Program]]) -> Iterator[Program]:
    """The same steps in inner programs; values undefined there become arguments of the outermost program."""
    for k, i in enumerate(p.body):
        for n, inner in enumerate(i.programs):
            for less in (*step(inner), *inside(inner, step)):
                new = replace(i, programs=(*i.programs[:n], less, *i.programs[n + 1 :]))
                q = replace(p, body=(*p.body[:k], new, *p.body[k + 1 :]))
                known = {v.id for v in free(inner).values()}
                lost = [v for v in free(less).values() if v.id not in known]
                yield _defined(q, lost) if lost else q


def substituted(p: Program, names: dict[int, Value]) -> Program:
    """Values replaced by others wherever they are read."""

    def swap(v: Value) -> Value:
        return names.get(v.id, v)

    def instruction(i: Instruction) -> Instruction:
        return replace(i, args=tuple(map(swap, i.args)), programs=tuple(substituted(q, names) for q in i.programs))

    return replace(p, body=tuple(map(instruction, p.body)), results=tuple(map(swap, p.results)))


# ------------------------------------------------------------------------------------------------ arguments

def simpler_arguments(p: Program) -> Iterator[Program]:
    for k, i in enumerate(p.inputs):
        if i.kind.startswith("record"):
            continue
        for new in _simpler_input(i):
            yield retyped(replace(p, inputs=(*p.inputs[:k], new, *p.inputs[k + 1 :])))


def _simpler_input(i: Input) -> Iterator[Input]:
    v = i.value
    if i.kind in ("special", "index", "weak"):
        yield replace(i, kind="normal", value=replace(v, weak=False))
    for dtype in {"f": ("float32",), "i": ("int32",), "u": ("int32",), "c": ("complex64", "float32")}.get(v.kind, ()):
        if v.dtype != dtype:
            yield replace(i, value=replace(v, dtype=dtype))
    for a in range(len(v.shape)):
        yield replace(i, value=replace(v, shape=v.shape[:a] + v.shape[a + 1 :]))
        for n in _smaller(v.shape[a]):
            yield replace(i, value=replace(v, shape=(*v.shape[:a], n, *v.shape[a + 1 :])))


def _smaller(n: int) -> list[int]:
    return [m for m in dict.fromkeys((0, 1, 2, 3, n // 2, n - 1)) if 0 <= m < n]


def retyped(p: Program) -> Program:
    """The outermost instructions' results with their current types."""
    types = {i.value.id: i.value for i in p.inputs}
    body = []
    with p.context():
        for i in p.body:
            i = replace(i, args=tuple(types.get(v.id, v) for v in i.args))
            try:
                avals: list[Any] = infer(i)
            except Exception:
                return p
            if len(avals) == len(i.outs):
                i = replace(i, outs=tuple(v if v.kind == "k" else replace(v, shape=tuple(a.shape), dtype=str(a.dtype))
                                          for v, a in zip(i.outs, avals, strict=True)))
            types.update((v.id, v) for v in i.outs)
            body.append(i)
    return replace(p, body=tuple(body), results=tuple(types.get(v.id, v) for v in p.results))


# ------------------------------------------------------------------------------------------------ expressions

def simpler_texts(p: Program) -> Iterator[Program]:
    """Instructions whose expressions are simpler."""
    for k in reversed(range(len(p.body))):
        for text in simpler(p.body[k].text):
            q = replace(p, body=(*p.body[:k], replace(p.body[k], text=text), *p.body[k + 1 :]))
            yield retyped(q) if p.inputs and isinstance(p.inputs[0], Input) else q


def simpler(text: str) -> Iterator[str]:
    """Expressions with a part replaced by one of its parts or a smaller number, or without an option."""
    tree = ast.parse(re.sub(r"\{(p?)(\d+)\}", r"hole_\1_\2", text).strip(), mode="eval")
    back = lambda t: re.sub(r"hole_(p?)_(\d+)", r"{\1\2}", ast.unparse(t))
    for node in list(ast.walk(tree)):
        for parent_field, old, new in _changes(node):
            _set(node, parent_field, new)
            try:
                made = back(ast.fix_missing_locations(tree))
            except Exception:
                made = text
            _set(node, parent_field, old)
            if made != text:
                yield made


def _set(node: ast.AST, where: tuple[str, int | None], new: Any) -> None:
    name, k = where
    if k is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[k] = new


def _changes(node: ast.AST) -> Iterator[tuple[tuple[str, int | None], Any, Any]]:
    """(position, old child, new child) for the children of a node."""
    if isinstance(node, ast.Call) and node.keywords:
        for k in range(len(node.keywords)):
            yield ("keywords", None), node.keywords, node.keywords[:k] + node.keywords[k + 1 :]
    for name, value in ast.iter_fields(node):
        children: list[tuple[int | None, Any]] = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.expr):
                for new in _simpler_nodes(child):
                    yield (name, index), child, new


def _simpler_nodes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        yield from (a for a in node.args if not isinstance(a, (ast.Constant, ast.Tuple, ast.List, ast.Starred, ast.Lambda)))
        if isinstance(node.func, ast.Attribute):
            yield node.func.value
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, (ast.UnaryOp,)):
        yield node.operand
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
        yield from (ast.Constant(m) for m in _smaller(node.value))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _SIMPLER_DTYPES:
        yield ast.Constant(_SIMPLER_DTYPES[node.value])


_SIMPLER_DTYPES = {
    **dict.fromkeys(("float16", "bfloat16", "float64", "complex64"), "float32"), "complex128": "complex64",
    **dict.fromkeys(("uint8", "int8", "int16", "uint16", "uint32", "int64"), "int32"),
}
