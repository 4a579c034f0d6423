"""Values of a tape take over each other's scratch memory, and none that is read later."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api.tape_steps import Steps
from numjet.core.aval import ShapedArray

F32 = np.dtype(np.float32)


class Program:
    """Random steps on arrays of float32 of one size, with what they give."""

    def __init__(self, rng: np.random.Generator, size: int):
        self.rng, self.steps, self.shape = rng, Steps(), (size,)
        self.xs = [rng.standard_normal(size).astype(F32) for _ in range(2)]
        self.numbers = [self.steps.input(x) for x in self.xs]

    def value(self, number: int) -> np.ndarray:
        return self.steps.values[number]

    def pick(self) -> int:
        """A value, mostly one of the last."""
        return self.numbers[-1 - min(int(self.rng.exponential(3)), len(self.numbers) - 1)]

    def add(self) -> None:
        a, b = self.pick(), self.pick()
        x, y = self.value(a), self.value(b)
        kind = self.rng.choice(["loop", "share", "part", "select", "join", "call", "convert"])
        write = self.steps.write
        match kind:
            case "loop":
                number = write("loop", (a, b), (np.maximum, np.maximum.types.index("ff->f")), np.maximum(x, y))
            case "share":
                number = write("share", (a,), None, x.view(np.int32))
                number = write("share", (number,), None, x.view(np.int32).view(F32))
            case "part":
                number = write("part", (a,), (x.nbytes - 4, (-4,)), x[::-1].copy())
            case "select":
                mask = write("loop", (a, b), (np.less, np.less.types.index("ff->?")), x < y)
                number = write("select", (mask, a, b), None, np.where(x < y, y, x))
            case "join":
                both = write("join", (a, b), 1, np.concatenate([x, y]))
                number = write("part", (both,), (x.nbytes // 8 * 4, (4,)), np.concatenate([x, y])[x.size // 2:][:x.size].copy())
            case "call":
                out = x - y
                number, = self.steps.append("call", (a, b), (ShapedArray(x.shape, F32),), (np.subtract, {}, False), [out])
            case _:
                wide = write("convert", (a,), None, x.astype(np.float64))
                number = write("convert", (wide,), None, x)
        self.numbers.append(number)


@pytest.mark.parametrize("size", [8, 700, 5000])
@pytest.mark.parametrize("seed", range(12))
def test_random_steps(seed, size):
    program = Program(np.random.default_rng(seed), size)
    for _ in range(40):
        program.add()
    outs = tuple(program.rng.choice(program.numbers[2:], 3))
    aval = ShapedArray((size,), F32)
    treedef = nj.tree.structure([0] * 3)
    tape = program.steps.tape([aval] * 2, outs, [aval] * 3, (), treedef)
    for found, number in zip(tape.run(tuple(map(jnp.asarray, program.xs))), outs, strict=True):
        assert np.asarray(found).tobytes() == program.value(number).tobytes()


def test_values_that_functions_keep_stay_as_they_are(one_platform):
    """Operands of calls are arrays of their own."""
    kept: list[Any] = []

    def keep(x: np.ndarray) -> np.ndarray:
        kept.append(x)
        return x + 1
    steps = Steps()
    x = np.arange(8, dtype=F32)
    number = steps.input(x)
    exp = np.exp.types.index("f->f")
    for _ in range(3):
        number = steps.write("loop", (number,), (np.exp, exp), np.exp(steps.values[number]) * 0)
        number, = steps.append("call", (number,), (ShapedArray((8,), F32),), (keep, {}, False), [steps.values[number]])
    aval = ShapedArray((8,), F32)
    tape = steps.tape([aval], [number], [aval], (), None)
    tape.run((jnp.asarray(x * 0),))
    first = [v.copy() for v in kept]
    tape.run((jnp.ones(8),))
    for before, now in zip(first, kept, strict=False):
        np.testing.assert_array_equal(before, now)


def test_runs_within_runs(one_platform):
    """A tape that runs already has no memory for a second run: that is for the function itself."""
    steps = Steps()
    x = np.arange(8, dtype=F32)
    number = steps.input(x)
    seen: list[Any] = []

    def again(y: np.ndarray) -> np.ndarray:
        seen.append(tape.run((jnp.asarray(x),)) if len(seen) < 3 else None)
        return y + 1
    square = (np.square, np.square.types.index("f->f"))
    number = steps.write("loop", (number,), square, np.square(x))
    number, = steps.append("call", (number,), (ShapedArray((8,), F32),), (again, {}, False), [np.square(x) + 1])
    number = steps.write("loop", (number,), square, np.square(np.square(x) + 1))
    aval = ShapedArray((8,), F32)
    tape = steps.tape([aval], [number], [aval], (), None)
    for _ in range(2):
        np.testing.assert_array_equal(tape.run((jnp.asarray(x),)), np.square(np.square(x) + 1))
    assert seen == [NotImplemented] * 2
