"""Grammar-based program generation: a typed generator, and the productions that it draws from.

A production writes the text of one instruction around values of the types that it needs. Tracing the instruction alone
(`eval_shape`) gives the types of its results, so a production does not declare them; an instruction that tracing refuses
is dropped and another is drawn. Refusals are counted with their messages: a production that is always refused is a
mistake in the grammar, or in numjet.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numjet as nj
from numjet.foundation import dtypes
from numjet.testing import prelude
from numjet.testing.programs import Input, Instruction, Program, Shape, Value, parts, used

DIMENSIONS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
FEW = (0, 1, 2, 2, 3, 3, 4, 5)
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16")
INTS = ("int32", "int32", "uint8", "int8", "uint16", "int16", "uint32")
ANY = (*FLOATS, "float32", "float32", "int32", "bool", "complex64", *INTS)
WIDE = {"float32": "float64", "int32": "int64", "complex64": "complex128", "uint32": "uint64"}
LIMIT = 3000  # elements of a value, but in large programs


@dataclass
class Scope:
    """A program being written, and the scopes around it."""

    program: Program
    outer: Scope | None = None

    def values(self) -> list[Value]:
        """Visible values, the latest last; those of outer scopes first."""
        found = self.outer.values() if self.outer else []
        return [*found, *self.program.parameters, *(v for i in self.program.body for v in i.outs)]


@dataclass
class Draft:
    """An instruction being written."""

    args: list[Value] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    tuple: bool = False

    def use(self, v: Value) -> str:
        """The hole for a value."""
        if v not in self.args:
            self.args.append(v)
        return "{" + str(self.args.index(v)) + "}"

    def hold(self, p: Program) -> str:
        """The hole for an inner program."""
        self.programs.append(p)
        return "{p" + str(len(self.programs) - 1) + "}"


@dataclass
class Term:
    """Text for an operand, and its type."""

    text: str
    shape: Shape
    dtype: str

    @property
    def kind(self) -> str:
        return dtypes.kind(dtypes.as_dtype(self.dtype))

    @property
    def rank(self) -> int:
        return len(self.shape)


Rule = Callable[["Generator", Draft], str | None]


@dataclass(frozen=True)
class Production:
    """A named way to write an instruction. weight: its frequency; deep: it holds programs; portable: JAX has it, too."""

    name: str
    rule: Rule
    weight: float = 1.0
    deep: bool = False
    portable: bool = True


PRODUCTIONS: dict[str, Production] = {}
_REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError, OverflowError, AttributeError, nj.errors.JAXTypeError,
             ZeroDivisionError)


def alternatives(text: str) -> list[str]:
    """The alternatives in a text, which bars and line breaks separate."""
    return text.strip().replace("\n", "|").split("|")


def production(weight: float = 1.0, deep: bool = False, portable: bool = True) -> Callable[[Rule], Rule]:
    """Adds a rule to the grammar under its function's name."""

    def add(rule: Rule) -> Rule:
        name = rule.__name__.strip("_")
        PRODUCTIONS[name] = Production(name, rule, weight, deep, portable)
        return rule

    return add


class Generator:
    """Draws programs; the same seed gives the same program.

    length: instructions of the outermost program. depth: nesting depth of programs. portable: only functions of JAX.
    large: arrays of many elements, with fewer instructions. first: a production for the first instruction.
    """

    def __init__(self, seed: int, length: int = 6, depth: int = 2, *, portable: bool = False, large: bool | None = None,
                 first: str | None = None):
        self.rng = random.Random(seed)
        self.seed, self.length, self.depth, self.portable, self.first = seed, length, depth, portable, first
        self.large = self.rng.random() < 0.02 if large is None else large
        self.x64 = self.rng.random() < 0.35
        self.refused: Counter[str] = Counter()
        self.used: Counter[str] = Counter()
        self._next = 0
        if self.large:
            self.depth = min(self.depth, 1)
        self.level = self.depth
        self.root = self.scope = Scope(Program(()))

    # -- whole programs
    def program(self) -> Program:
        """A program of some arguments."""
        self.root = self.scope = Scope(Program((), x64=self.x64))
        with self.root.program.context():
            for _ in range(self.rng.randint(1, 3)):
                self.argument()
            length = max(1, self.length // 2) if self.large else self.rng.randint(1, self.length)
            if self.first is not None:
                self._write(PRODUCTIONS[self.first])
            self._fill(length)
        made = [v for i in self.scope.program.body for v in i.outs if v.kind != "k"]
        wanted = {made[-1]} if made else set(self.scope.program.parameters)
        wanted |= {v for v in made if self.rng.random() < 0.4}
        p = replace(self.scope.program, results=tuple(sorted(wanted, key=lambda v: v.id)))
        return replace(p, donated=tuple(k for k, i in enumerate(p.inputs) if i.kind != "weak" and self.rng.random() < 0.1))

    def argument(self, shape: Shape | None = None, dtype: str | None = None, kind: str | None = None) -> Value:
        """A new argument of the whole program."""
        shape = self.shape() if shape is None else shape
        kind = kind or self.rng.choices(("normal", "special", "weak", "index", "zero"), (16, 2, 1, 2, 0.5))[0]
        dtype = dtype or self.dtype()
        if kind == "weak":
            shape, dtype = (), self.rng.choice(("float32", "int32", "complex64"))
            dtype = WIDE[dtype] if self.x64 else dtype
        value = Value(self.number(), shape, dtype, kind == "weak")
        made = Input(value, kind, self.rng.randrange(10**6))
        self.root.program = replace(self.root.program, inputs=(*self.root.program.inputs, made))
        return value

    def number(self) -> int:
        self._next += 1
        return self._next - 1

    # -- random types
    def dtype(self, kinds: str = "") -> str:
        """A dtype; of some kinds when named."""
        names = [n for n in ANY if not kinds or dtypes.kind(dtypes.as_dtype(n)) in kinds]
        name = self.rng.choice(names)
        return WIDE.get(name, name) if self.x64 and self.rng.random() < 0.5 else name

    def dim(self) -> int:
        return self.rng.choice(DIMENSIONS)

    def shape(self, rank: int | None = None) -> Shape:
        """A shape, of sizes around those of vectors."""
        if rank is None:
            rank = self.rng.choices((0, 1, 2, 3, 4), (3, 6, 7, 4, 1))[0]
        if self.large and rank and self.rng.random() < 0.6:
            return self._large_shape(rank)
        for _ in range(20):
            shape = tuple(self.rng.choice(DIMENSIONS if k < 2 else FEW) for k in range(rank))
            if nj.core.aval.ShapedArray(shape, dtypes.as_dtype("float32")).size <= LIMIT:
                return tuple(self.rng.sample(shape, rank))
        return (2,) * rank

    def _large_shape(self, rank: int) -> Shape:
        size = self.rng.choice((66_000, 70_001, 131_072, 200_000, 1_100_000 if self.rng.random() < 0.1 else 66_000))
        shape = [1] * rank
        for k in range(rank - 1):
            shape[k] = self.rng.choice((1, 2, 3, 8, 9, 17, 65, 300))
            size //= shape[k]
        shape[-1] = max(1, size)
        return tuple(self.rng.sample(shape, rank))

    # -- operands
    def pick(self, wanted: Callable[[Value], bool] = lambda v: v.kind != "k") -> Value | None:
        """A visible value; later ones more often."""
        found = [v for v in self.scope.values() if wanted(v)]
        return found[-1 - min(int(self.rng.expovariate(0.4)), len(found) - 1)] if found else None

    def term(self, d: Draft, kinds: str = "", rank: int | None = None, least: int = 0, dtype: str | None = None) -> Term:
        """An operand: a value of the requested types, converted if necessary."""
        suits = lambda v: v.kind != "k" and (rank is None or len(v.shape) == rank) and len(v.shape) >= least
        right = lambda v: (not kinds or v.kind in kinds) and (dtype is None or v.dtype == dtype)
        v = self.pick(lambda v: suits(v) and right(v)) if self.rng.random() < 0.9 else None
        if v is not None and self.rng.random() < 0.9:
            return Term(d.use(v), v.shape, v.dtype)
        new = dtype or self.dtype(kinds)
        v = self.pick(suits)
        if v is not None:
            return Term(f"to({d.use(v)}, '{new}')", v.shape, new)
        shape = self.shape(rank if rank is not None else max(least, self.rng.randint(1, 3)))
        return self.fitted(d, shape, new)

    def fitted(self, d: Draft, shape: Shape, dtype: str, near: tuple[float, float] | None = None) -> Term:
        """An operand of one shape and dtype, perhaps with values in a range."""
        v = self.pick(lambda v: v.shape == shape and v.dtype == dtype)
        if v is None or self.rng.random() < 0.3:
            v = self.pick()
            if v is None or v.size == 0 and self.rng.random() < 0.8:
                v = self.argument(shape, dtype, "normal")
        exact = v.shape == shape and v.dtype == dtype
        text = d.use(v) if exact else f"fit({d.use(v)}, {shape}, '{dtype}')"
        return Term(text if near is None else f"between({text}, {near[0]}, {near[1]})", shape, dtype)

    def same(self, d: Draft, t: Term, kinds: str = "") -> Term:
        """Another operand that fits a given one: mostly the same dtype, a shape that broadcasts."""
        dtype = t.dtype if self.rng.random() < 0.8 else self.dtype(kinds)
        shape = t.shape
        if self.rng.random() < 0.4:
            shape = tuple(1 if self.rng.random() < 0.4 else n for n in shape)[self.rng.randint(0, len(shape)) :]
        v = self.pick(lambda v: v.shape == shape and (not kinds or v.kind in kinds))
        if v is not None and self.rng.random() < 0.4:
            return Term(d.use(v), v.shape, v.dtype)
        return self.fitted(d, shape, dtype)

    # -- instructions
    def _fill(self, length: int) -> None:
        for _ in range(length):
            self._instruction()

    def _instruction(self) -> None:
        for _ in range(30):
            choices = [p for p in PRODUCTIONS.values() if (self.level > 0 or not p.deep) and (p.portable or not self.portable)]
            if self._write(self.rng.choices(choices, [p.weight for p in choices])[0]):
                return

    def _write(self, p: Production) -> bool:
        """Adds an instruction; False where it is refused."""
        d = Draft()
        scope, level = self.scope, self.level
        try:
            text = p.rule(self, d)
        finally:
            self.scope, self.level = scope, level
        if text is None:
            return False
        drafted = Instruction(text, tuple(d.args), (), tuple(d.programs), p.name, d.tuple)
        made = self.inferred(drafted)
        if made is None or sum(v.size for v in made.outs) > (3 * 10**6 if self.large else 4 * LIMIT):
            return False
        self.used[p.name] += 1
        self.scope.program = replace(self.scope.program, body=(*self.scope.program.body, made))
        return True

    def inferred(self, i: Instruction) -> Instruction | None:
        """The instruction with its results; None where tracing refuses it."""
        try:
            avals = infer(i)
        except _REFUSALS as error:
            self.refused[f"{i.name}: {type(error).__name__}: {str(error)[:160]}"] += 1
            return None
        return replace(i, outs=tuple(Value(self.number(), tuple(a.shape), _name(a.dtype), a.weak_type) for a in avals))

    # -- inner programs
    def inner(self, inputs: Sequence[tuple[Shape, str, bool]], outs: Sequence[tuple[Shape, str, bool]] | None = None,
              length: int | None = None, alone: bool = False) -> Program:
        """A program of inputs of given types. Its results have the types of `outs`: values of these types, in any order, or
        converted ones; None: any results. alone: it does not close over outer values."""
        outside, self.level = self.scope, self.level - 1
        parameters = tuple(Value(self.number(), *t) for t in inputs)
        self.scope = Scope(Program(parameters, x64=self.x64), None if alone else outside)
        self._fill(self.rng.randint(0 if outs else 1, 3) if length is None else length)
        results = self._results(outs)
        p = replace(self.scope.program, results=results)
        self.scope, self.level = outside, self.level + 1
        return p

    def _results(self, outs: Sequence[tuple[Shape, str, bool]] | None) -> tuple[Value, ...]:
        made = [v for i in self.scope.program.body for v in i.outs if v.kind != "k"]
        if outs is None:
            wanted = [made[-1]] if made else [self.pick() or self.scope.program.parameters[0]]
            return tuple(dict.fromkeys([*wanted, *(v for v in made if self.rng.random() < 0.3)]))
        return tuple(self._result(t) for t in outs)

    def _result(self, t: tuple[Shape, str, bool]) -> Value:
        """A value of a type, made if there is none; new ones more often than inputs."""
        here = {v.id for v in self.scope.program.parameters}
        v = self.pick(lambda v: (v.shape, v.dtype, v.weak) == t and (v.id not in here or self.rng.random() < 0.4))
        if v is not None and (v.kind in "iub" or self.rng.random() < 0.5):
            return v
        d = Draft()
        source_ = v or self.pick()
        if source_ is None:
            text = f"jnp.ones({t[0]}, '{t[1]}')"
        else:
            text = d.use(source_) if v else f"fit({d.use(source_)}, {t[0]}, '{t[1]}')"
            text = f"squash({text})" if dtypes.kind(dtypes.as_dtype(t[1])) in "fc" else text
        made = self.inferred(Instruction(text, tuple(d.args), (), (), "result"))
        assert made is not None, (text, d.args, self.refused)
        self.scope.program = replace(self.scope.program, body=(*self.scope.program.body, made))
        return made.outs[0]


def infer(i: Instruction) -> list[Any]:
    """The types of an instruction's results, by tracing it."""
    values = used(i)
    lines, text = parts(replace(i, outs=()), "    ")
    body = f"def step({', '.join(f'v{k}' for k in values)}):\n{lines}    return {text}"
    space = dict(prelude.names())
    exec(compile(body, "<random instruction>", "exec"), space)
    out = nj.eval_shape(space["step"], *[_struct(v) for v in values.values()])
    if i.tuple:
        if not out or not all(hasattr(x, "dtype") for x in out):
            raise TypeError("gives no arrays")
        return list(out)
    if not hasattr(out, "dtype"):
        raise TypeError(f"gives {type(out).__name__}, not an array")
    return [out]


def _name(dtype: Any) -> str:
    return dtypes.long_name(dtype) if dtype.kind != "V" or "bfloat" in str(dtype) else str(dtype)


def _struct(v: Value) -> Any:
    if v.kind == "k":
        return nj.eval_shape(lambda: nj.random.split(nj.random.key(0), v.shape) if v.shape else nj.random.key(0))
    return nj.ShapeDtypeStruct(v.shape, v.dtype, weak_type=v.weak)
