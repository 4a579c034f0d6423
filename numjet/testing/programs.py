"""Random programs as data: typed values, instructions that may hold programs, and their text as runnable Python.

A program is a list of instructions over values, whose text has holes: {0}, {1}, ... for operands and {p0}, {p1}, ... for the
programs inside it (bodies of loops, branches, functions to transform). Inner programs may use all values of the outer ones, as
closures do. A program is run from its text, so the text of a failing program reproduces it; and it has only names of JAX,
but for `rec`, which applies a record.
"""
from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import numjet as nj
from numjet.core.op import all_ops
from numjet.foundation import dtypes
from numjet.testing import prelude, records

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """A value of a program: its number and its type."""

    id: int
    shape: Shape
    dtype: str
    weak: bool = False

    @property
    def kind(self) -> str:
        """f, c, i, u or b, as NumPy has it; k for random keys."""
        return "k" if self.dtype.startswith("key") else dtypes.kind(dtypes.as_dtype(self.dtype))

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Input:
    """The distribution of an argument. kind: normal, special (with infinities, NaN, zeros and largest numbers), index,
    weak, or `record NAME CASE POSITION`, an operand from a record's samples."""

    value: Value
    kind: str = "normal"
    seed: int = 0


@dataclass(frozen=True)
class Instruction:
    """outs = text, with {0}, ... for args and {p0}, ... for programs. `name` is the production that made it."""

    text: str
    args: tuple[Value, ...]
    outs: tuple[Value, ...]
    programs: tuple[Program, ...] = ()
    name: str = ""
    tuple: bool = False


@dataclass(frozen=True)
class Program:
    """Inputs (Input for a whole program, Value for an inner one), instructions, results."""

    inputs: tuple[Any, ...]
    body: tuple[Instruction, ...] = ()
    results: tuple[Value, ...] = ()
    x64: bool = False
    donated: tuple[int, ...] = field(default=())

    @property
    def parameters(self) -> tuple[Value, ...]:
        return tuple(i.value if isinstance(i, Input) else i for i in self.inputs)

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        """The configuration that the program is traced and run in, without warnings."""
        with configured(self.x64):
            yield

    def instructions(self) -> Iterator[Instruction]:
        """All instructions, those of inner programs included."""
        for i in self.body:
            yield i
            for inner in i.programs:
                yield from inner.instructions()

    @property
    def portable(self) -> bool:
        """Whether all its functions exist in JAX, too."""
        return not any(re.search(r"\brec\(", i.text) for i in self.instructions())


@contextlib.contextmanager
def configured(x64: bool) -> Iterator[None]:
    """With or without 64 bit types, and without warnings."""
    with nj.enable_x64(x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def free(p: Program) -> dict[int, Value]:
    """The values of outer programs that an inner program uses."""
    known = {v.id for v in p.parameters}
    found: dict[int, Value] = {}
    for i in p.body:
        for v in (*i.args, *(v for inner in i.programs for v in free(inner).values())):
            if v.id not in known:
                found[v.id] = v
        known |= {v.id for v in i.outs}
    found.update((v.id, v) for v in p.results if v.id not in known)
    return found


def used(i: Instruction) -> dict[int, Value]:
    """The values that an instruction reads, also inside its programs."""
    found = {v.id: v for v in i.args}
    for inner in i.programs:
        found.update(free(inner))
    return found


# ------------------------------------------------------------------------------------------------ text

def source(p: Program, name: str = "program", indent: str = "") -> str:
    """The program as a Python function."""
    inside = indent + "    "
    head = f"{indent}def {name}({', '.join(f'v{v.id}' for v in p.parameters)}):\n"
    lines = "".join(statement(i, inside) for i in p.body)
    return head + lines + f"{inside}return ({''.join(f'v{v.id}, ' for v in p.results)})\n"


def statement(i: Instruction, indent: str = "") -> str:
    """An instruction as a Python statement, after the functions that it uses."""
    lines, text = parts(i, indent)
    targets = ", ".join(f"v{v.id}" for v in i.outs)
    return f"{lines}{indent}{targets} = {text}\n" if not i.tuple else f"{lines}{indent}({targets},) = {text}\n"


def parts(i: Instruction, indent: str = "") -> tuple[str, str]:
    """The functions that an instruction uses, and its expression."""
    names = {f"p{n}": f"f{i.outs[0].id}_{n}" if i.outs else f"g_{n}" for n in range(len(i.programs))}
    lines = "".join(source(inner, names[f"p{n}"], indent) for n, inner in enumerate(i.programs))
    names.update((str(n), f"v{a.id}") for n, a in enumerate(i.args))
    return lines, re.sub(r"\{(p?\d+)\}", lambda m: names[m[1]], i.text)


HEADER = """import numpy as np
import numjet as nj
import numjet.numpy as jnp
import numjet.scipy.linalg
import numjet.scipy.special
from numjet import lax
"""


def load(p: Program) -> Callable[..., Any]:
    """The program as a function."""
    space = dict(prelude.names())
    exec(compile(source(p), "<random program>", "exec"), space)
    return space["program"]


def script(p: Program, why: str = "") -> str:
    """A script that judges the program, with the names of the corpus (tests/corpus)."""
    values = "".join(f"        {literal(i)},\n" for i in p.inputs)
    text = source(p)
    needed = HEADER + prelude.text(text + values)
    return (
        f"{_documented(why)}{needed}\n\nX64, DONATED = {p.x64}, {p.donated}\n\n\n"
        f"def arguments():\n    return [\n{values}    ]\n\n\n{text}\n\n"
        'if __name__ == "__main__":\n    from numjet.testing import verdict\n'
        "    print(verdict.judge_function(program, arguments, X64, DONATED).wrong)\n"
    )


def _documented(why: str) -> str:
    return f'"""{why}"""\n' if why else ""


def literal(i: Input) -> str:
    """An argument as text: written out when small."""
    v = i.value
    x = draw(i)
    if i.kind == "weak":
        return f"jnp.asarray({x!r})"
    if np.size(x) > 60 or v.kind == "k":
        return f"jnp.asarray(programs.draw(programs.Input(programs.{v!r}, {i.kind!r}, {i.seed})))"
    if v.dtype == "bfloat16":
        listed = str(np.asarray(x, np.float32).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"jnp.asarray({listed}, jnp.bfloat16).reshape({v.shape})"
    flat = re.sub(r"\b(nan|inf)(j?)\b", lambda m: f"np.{m[1]}" + (" * 1j" if m[2] else ""), repr(np.ravel(x).tolist()))
    return f"jnp.asarray(np.array({flat}, '{v.dtype}').reshape({v.shape}))"


# ------------------------------------------------------------------------------------------------ arguments

def arguments(p: Program) -> list[Any]:
    """The arguments of a program: NumPy arrays, and Python numbers for weak ones."""
    return [draw(i) for i in p.inputs]


def draw(i: Input) -> Any:
    """One argument; the same input gives the same values."""
    v, rng = i.value, np.random.default_rng(i.seed)
    if i.kind.startswith("record "):
        _, name, case, position = i.kind.split()
        made = records.made_operands(all_ops()[name], int(case), rng)[int(position)]
        assert made.shape == v.shape and str(made.dtype) == v.dtype, (i, made.shape, made.dtype)
        return made
    dtype = dtypes.as_dtype(v.dtype)
    if i.kind == "weak":
        return {"f": float, "i": int, "b": bool, "c": complex}[v.kind](records.random_array(rng, (), dtype, -2, 2))
    low, high = (-9, 9) if i.kind == "index" else (-2, 2)
    x = records.random_array(rng, v.shape, dtype, low, high)
    if i.kind == "zero":
        return np.zeros_like(x)
    return _special(x, v.kind, rng) if i.kind == "special" and x.size else x


def _special(x: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Some elements replaced by special values."""
    if kind in "fc":
        info = dtypes.finfo(x.dtype)
        choices = [np.nan, np.inf, -np.inf, 0.0, -0.0, float(info.max), float(info.tiny), 1.0, -1.0, 0.5]
    elif kind in "iu":
        ends = dtypes.iinfo(x.dtype)
        choices = [int(ends.min), int(ends.max), 0, 1]
    else:
        return x
    flat = x.reshape(-1).copy()
    for k in rng.integers(0, x.size, max(1, x.size // 4)):
        flat[k] = np.asarray(choices[rng.integers(len(choices))]).astype(x.dtype)
    return flat.reshape(x.shape)


def renumbered(p: Program) -> Program:
    """The same program with values numbered from 0 in the order of the text."""
    numbers: dict[int, int] = {}

    def value(v: Value) -> Value:
        return replace(v, id=numbers.setdefault(v.id, len(numbers)))

    def walk(q: Program) -> Program:
        inputs = tuple(replace(i, value=value(i.value)) if isinstance(i, Input) else value(i) for i in q.inputs)
        body = tuple(instruction(i) for i in q.body)
        return replace(q, inputs=inputs, body=body, results=tuple(map(value, q.results)))

    def instruction(i: Instruction) -> Instruction:
        args, inner = tuple(map(value, i.args)), tuple(map(walk, i.programs))
        return replace(i, args=args, programs=inner, outs=tuple(map(value, i.outs)))

    return walk(p)
