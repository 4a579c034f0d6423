"""Random programs: nested jit, vmap, grad, scan, while, cond over arrays of small shapes, as runnable source text.

A program is a list of instructions over numbered values v0, v1, ...; the first are its arguments. Instructions may hold
programs (loop bodies, branches). `source` writes a program as a Python script, which is also how it is run, so a
failing program prints as what reproduces it.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from numjet.runtime.dispatch import as_array

Shape = tuple[int, ...]

UNARY = ("jnp.sin({0})", "jnp.tanh({0})", "-{0}", "jnp.abs({0})", "jnp.exp(-jnp.abs({0}))", "{0} * {0}",
         "jnp.sqrt(jnp.abs({0}) + 0.1)",
         "jnp.log1p(jnp.abs({0}))", "lax.logistic({0})", "jnp.floor({0} * 3) * 0.25", "jnp.cumsum({0}, axis={axis}) * 0.2",
         "jnp.sort({0}, axis={axis})", "jnp.flip({0}, axis={axis})", "jnp.roll({0}, {shift}, axis={axis})",
         "jnp.clip({0}, -0.5, 0.75)",
         "{0}.at[{index}].set(0.5)", "{0}.at[{index}].add(0.25)", "{0}.astype(jnp.int32).astype(jnp.float32)")
BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "jnp.maximum({0}, {1})", "jnp.minimum({0}, {1})", "{0} / (1.5 + jnp.abs({1}))",
          "jnp.where({0} > {1}, {0}, 0.5 * {1})", "jnp.arctan2({0}, {1} + 2.0)", "jnp.hypot({0}, {1} + 0.5)")
SHAPES: tuple[Shape, ...] = ((), (3,), (5,), (2, 3), (4, 5), (20,), (2, 3, 4), (33,))


@dataclass
class Instruction:
    """One value: `text` with {0}, {1}, ... for operands and {p0}, {p1}, ... for inner programs."""
    text: str
    args: tuple[int, ...]
    shape: Shape
    programs: tuple[Program, ...] = ()


@dataclass
class Program:
    """Arguments' shapes, instructions, and which values are returned."""
    inputs: tuple[Shape, ...]
    body: list[Instruction] = field(default_factory=list)
    results: tuple[int, ...] = ()

    def shape(self, k: int) -> Shape:
        return self.inputs[k] if k < len(self.inputs) else self.body[k - len(self.inputs)].shape


class Generator:
    """Draws programs; the same seed gives the same program."""

    def __init__(self, seed: int, length: int = 8, depth: int = 2):
        self.rng = random.Random(seed)
        self.length, self.depth = length, depth

    def program(self) -> Program:
        """A program of two or three arguments."""
        inputs = tuple(self.rng.choice(SHAPES) for _ in range(self.rng.randint(2, 3)))
        made = self._fill(Program(inputs), self.length, self.depth)
        count = len(inputs) + len(made.body)
        made.results = tuple(sorted({count - 1, self.rng.randrange(len(inputs), count)}))
        return made

    def _fill(self, p: Program, length: int, depth: int) -> Program:
        for _ in range(length):
            makers: list[Callable[[Program, int], Instruction | None]] = [self._unary, self._binary, self._binary,
                    self._move, self._reduce]
            if depth > 0:
                makers += [self._scan, self._while, self._cond, self._jit, self._vmap, self._grad]
            made = None
            while made is None:
                made = self.rng.choice(makers)(p, depth)
            p.body.append(made)
        return p

    def _pick(self, p: Program, wanted: Callable[[Shape], bool] = lambda s: True) -> int | None:
        """A value; later ones more often."""
        found = [k for k in range(len(p.inputs) + len(p.body)) if wanted(p.shape(k))]
        return found[min(int(self.rng.expovariate(0.5)), len(found) - 1) * -1 - 1] if found else None

    def _unary(self, p: Program, depth: int) -> Instruction:
        k = self._pick(p)
        assert k is not None
        shape = p.shape(k)
        text = self.rng.choice(UNARY)
        while not shape and ("axis" in text or ".at" in text):
            text = self.rng.choice(UNARY)
        axis = self.rng.randrange(len(shape)) if shape else 0
        index = self.rng.randrange(shape[0]) if shape else 0
        for name, value in (("axis", axis), ("index", index), ("shift", self.rng.randint(-3, 3))):
            text = text.replace("{" + name + "}", str(value))
        return Instruction(text, (k,), shape)

    def _binary(self, p: Program, depth: int) -> Instruction | None:
        k = self._pick(p)
        assert k is not None
        shape = p.shape(k)
        other = self._pick(p, lambda s: s in (shape, ()))
        return None if other is None else Instruction(self.rng.choice(BINARY), (k, other), shape)

    def _move(self, p: Program, depth: int) -> Instruction | None:
        k = self._pick(p, lambda s: len(s) > 0)
        if k is None:
            return None
        shape = p.shape(k)
        size = 1
        for n in shape:
            size *= n
        n = shape[0]
        start = self.rng.randrange(n)
        choices = [("jnp.ravel({0})", (size,)), ("{0}.T", shape[::-1]), (f"{{0}}[{start}]", shape[1:]),
                   (f"{{0}}[{start}:]", (n - start, *shape[1:])), ("{0}[::-2]", ((n + 1) // 2, *shape[1:])),
                   ("jnp.concatenate([{0}, {0}[:1]])", (n + 1, *shape[1:])),
                   ("jnp.pad({0}[1:], [(1, 0)] + [(0, 0)] * ({0}.ndim - 1))", shape),
                   ("jnp.broadcast_to({0}, (2, *{0}.shape))", (2, *shape)), ("{0}[jnp.array([0, -1, 0])]", (3, *shape[1:])),
                   ("lax.dynamic_index_in_dim({0}, jnp.argmax(jnp.ravel({0})), keepdims=False)", shape[1:]),
                   ("lax.dynamic_update_slice({0}, 0.5 * {0}[:1], (1,) + (0,) * ({0}.ndim - 1))", shape),
                   ("jnp.outer({0}, {0})", (size, size))]
        text, new = self.rng.choice(choices)
        total = 1
        for m in new:
            total *= m
        return Instruction(text, (k,), new) if 0 < total <= 400 else None

    def _reduce(self, p: Program, depth: int) -> Instruction | None:
        k = self._pick(p, lambda s: len(s) > 0)
        if k is None:
            return None
        shape = p.shape(k)
        axis = self.rng.randrange(len(shape))
        kept = shape[:axis] + shape[axis + 1:]
        choices = [(f"jnp.sum({{0}}, axis={axis}) * 0.3", kept), (f"jnp.max({{0}}, axis={axis})", kept), ("jnp.mean({0})", ()),
                   (f"jnp.prod(jnp.tanh({{0}}), axis={axis})", kept), ("jnp.tensordot({0}, {0}, {0}.ndim) * 0.1", ()),
                   (f"jnp.var({{0}}, axis={axis})", kept)]
        text, new = self.rng.choice(choices)
        return Instruction(text, (k,), new)

    # -- programs inside
    def _inner(self, inputs: tuple[Shape, ...], outs: tuple[Shape, ...], depth: int) -> Program:
        """A program whose results have given shapes: the last values, brought into shape."""
        p = self._fill(Program(inputs), self.rng.randint(1, 4), depth - 1)
        results = []
        for shape in outs:
            k = self._pick(p)
            assert k is not None
            text = "{0}" if p.shape(k) == shape else f"jnp.broadcast_to(jnp.mean({{0}}), {shape})"
            p.body.append(Instruction(f"jnp.tanh({text})", (k,), shape))
            results.append(len(p.inputs) + len(p.body) - 1)
        p.results = tuple(results)
        return p

    def _scan(self, p: Program, depth: int) -> Instruction | None:
        carry, xs = self._pick(p), self._pick(p, lambda s: len(s) > 0)
        if carry is None or xs is None:
            return None
        c, x = p.shape(carry), p.shape(xs)
        inner = self._inner((c, x[1:]), (c, x[1:]), depth)
        reverse = self.rng.random() < 0.3
        if self.rng.random() < 0.5:
            return Instruction(f"lax.scan(lambda c, x: {{p0}}(c, x), {{0}}, {{1}}, reverse={reverse})[0]", (carry, xs), c,
                               (inner,))
        return Instruction(f"lax.scan(lambda c, x: {{p0}}(c, x), {{0}}, {{1}}, reverse={reverse})[1]", (carry, xs), x, (inner,))

    def _while(self, p: Program, depth: int) -> Instruction | None:
        k, bound = self._pick(p), self._pick(p, lambda s: s == ())
        if k is None:
            return None
        shape = p.shape(k)
        inner = self._inner((shape, ()), (shape,), depth)
        count = self.rng.randint(1, 4)
        if bound is None or self.rng.random() < 0.6:
            return Instruction(f"lax.fori_loop(0, {count}, lambda i, v: {{p0}}(v, 0.1 * i.astype(jnp.float32))[0], {{0}})",
                               (k,), shape, (inner,))
        return Instruction("lax.while_loop(lambda c: (c[0] < 3) & (c[0] < 1 + jnp.abs({1})), "
                           "lambda c: (c[0] + 1, {p0}(c[1], 0.1 * c[0])[0]), (jnp.float32(0), {0}))[1]", (k, bound), shape,
                           (inner,))

    def _cond(self, p: Program, depth: int) -> Instruction | None:
        flag, k = self._pick(p, lambda s: s == ()), self._pick(p)
        if flag is None or k is None:
            return None
        shape = p.shape(k)
        one, two = self._inner((shape,), (shape,), depth), self._inner((shape,), (shape,), depth)
        if self.rng.random() < 0.5:
            return Instruction("lax.cond({0} > 0.2, {p0}, {p1}, {1})[0]", (flag, k), shape, (one, two))
        return Instruction("lax.switch(({0} * 2).astype(jnp.int32), [{p0}, {p1}, lambda v: (v,)], {1})[0]", (flag, k),
                           shape, (one, two))

    def _jit(self, p: Program, depth: int) -> Instruction | None:
        k, other = self._pick(p), self._pick(p)
        assert k is not None and other is not None
        inner = self._inner((p.shape(k), p.shape(other)), (p.shape(k),), depth)
        return Instruction("nj.jit({p0})({0}, {1})[0]", (k, other), p.shape(k), (inner,))

    def _vmap(self, p: Program, depth: int) -> Instruction | None:
        k, other = self._pick(p, lambda s: len(s) > 0), self._pick(p)
        if k is None or other is None:
            return None
        shape = p.shape(k)
        axis = self.rng.randrange(len(shape))
        element = shape[:axis] + shape[axis + 1:]
        inner = self._inner((element, p.shape(other)), (element,), depth)
        return Instruction(f"nj.vmap({{p0}}, in_axes=({axis}, None), out_axes={axis})({{0}}, {{1}})[0]", (k, other), shape,
                           (inner,))

    def _grad(self, p: Program, depth: int) -> Instruction | None:
        k = self._pick(p)
        assert k is not None
        inner = self._inner((p.shape(k),), ((),), depth)
        if _has_while(inner):
            return Instruction("jnp.tanh(nj.jvp(lambda v: {p0}(v)[0], ({0},), ({0},))[1] + {0})", (k,), p.shape(k), (inner,))
        return Instruction("jnp.tanh(nj.grad(lambda v: {p0}(v)[0])({0}))", (k,), p.shape(k), (inner,))


def _has_while(p: Program) -> bool:
    """Whether reverse mode would meet a while loop."""
    return any("while_loop" in i.text or any(map(_has_while, i.programs)) for i in p.body)


# ------------------------------------------------------------------------------------------------ text

def source(p: Program, name: str = "program", indent: str = "") -> str:
    """The program as a Python function."""
    head = f"{indent}def {name}({', '.join(f'v{k}' for k in range(len(p.inputs)))}):\n"
    lines, inside = "", indent + "    "
    for k, i in enumerate(p.body, start=len(p.inputs)):
        names = {}
        for n, inner in enumerate(i.programs):
            names[f"p{n}"] = f"f{k}_{n}"
            lines += source(inner, names[f"p{n}"], inside)
        text = i.text
        for n, a in enumerate(i.args):
            text = text.replace("{" + str(n) + "}", f"v{a}")
        for key, value in names.items():
            text = text.replace("{" + key + "}", value)
        lines += f"{inside}v{k} = {text}\n"
    return head + lines + f"{inside}return ({', '.join(f'v{k}' for k in p.results)},)\n"


def arguments(p: Program, seed: int) -> list[Any]:
    """Random float32 arguments of a program."""
    rng = np.random.default_rng(seed)
    return [as_array(rng.uniform(-1.5, 1.5, s).astype(np.float32)) for s in p.inputs]


HEADER = """import numjet as nj
import numjet.numpy as jnp
import numpy as np
from numjet import lax
"""


def load(p: Program) -> Callable[..., Any]:
    """The program as a function."""
    space: dict[str, Any] = {}
    exec(HEADER + source(p), space)
    return space["program"]


def script(p: Program, seed: int) -> str:
    """A script that runs the program op by op and compiled, and compares."""
    return (f"{HEADER}\n{source(p)}\nrng = np.random.default_rng({seed})\n"
            f"args = [jnp.asarray(rng.uniform(-1.5, 1.5, s).astype(np.float32)) for s in {p.inputs}]\n"
            "with nj.disable_jit():\n    want = program(*args)\ngot = nj.jit(program)(*args)\n"
            "for g, w in zip(got, want):\n    np.testing.assert_allclose(g, w, rtol=2e-3, atol=2e-4)\n")


# ------------------------------------------------------------------------------------------------ shrinking

def smaller(p: Program) -> Iterator[Program]:
    """Programs with one instruction less, or one inner program made smaller."""
    base = len(p.inputs)
    for k in reversed(range(len(p.body))):
        used = {a for i in p.body for a in i.args} | set(p.results)
        value = base + k
        if value not in used:
            yield _without(p, k)
        elif p.body[k].text != "jnp.full({shape}, 0.5)" and (p.body[k].args or p.body[k].programs):
            yield _with(p, k, Instruction(f"jnp.full({p.body[k].shape}, 0.5)", (), p.body[k].shape))
        for n, inner in enumerate(p.body[k].programs):
            for less in smaller(inner):
                programs = (*p.body[k].programs[:n], less, *p.body[k].programs[n + 1:])
                yield _with(p, k, replace(p.body[k], programs=programs))
    if len(p.results) > 1:
        for r in p.results:
            yield replace(p, results=tuple(x for x in p.results if x != r))


def _with(p: Program, k: int, i: Instruction) -> Program:
    return replace(p, body=[*p.body[:k], i, *p.body[k + 1:]])


def _without(p: Program, k: int) -> Program:
    value = len(p.inputs) + k
    move = lambda a: a - (a > value)
    body = [replace(i, args=tuple(map(move, i.args))) for n, i in enumerate(p.body) if n != k]
    return replace(p, body=body, results=tuple(map(move, p.results)))


def shrink(p: Program, fails: Callable[[Program], bool], limit: int = 300) -> Program:
    """A smaller program that still fails."""
    tries = 0
    again = True
    while again and tries < limit:
        again = False
        for candidate in smaller(p):
            tries += 1
            if fails(candidate):
                p, again = candidate, True
                break
            if tries >= limit:
                break
    return p
