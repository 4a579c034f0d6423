"""Symbolic dimensions against numbers: arithmetic, decisions, parsing, solving."""
from __future__ import annotations

import itertools
import random

import pytest

from numjet.export import SymbolicScope, symbolic_shape
from numjet.foundation.dimension import largest, smallest
from numjet.foundation.errors import InconclusiveDimensionOperation
from numjet.foundation.symbolic import bounds
from numjet.foundation.symbolic.dims import SymbolicDim, compare, substituted
from numjet.foundation.symbolic.parse import parse_size
from numjet.foundation.symbolic.solve import Axis, solve

a, b, c = symbolic_shape("a, b, c")


@pytest.mark.parametrize("size, text", [
    (a + b, "b + a"), (2 * a + b * 3 - 1, "3*b + 2*a - 1"), (a * a, "a^2"), (b * a + a, "a*b + a"), (-a, "- a"),
    (a - b, "- b + a"), (-1 * a + b, "b - a"), ((a + b) * (a - b), "- b^2 + a^2"), (a // 2, "floordiv(a, 2)"),
    (a % 2, "mod(a, 2)"), ((2 * a) // 2, "a"), (a // a, "1"), ((a * b) // b, "a"), ((a * b) % a, "0"),
    ((a + 4) // 2, "floordiv(a + 4, 2)"), ((2 * a + 5) // 2, "a + 2"), ((2 * a + 5) % 2, "1"), (5 // a, "floordiv(5, a)"),
    (a ** 2, "a^2"), (a ** 0, "1"), (a - a, "0"), (a * 0, "0"), ((a - 1) // a, "0"), (a % 2 + 2 * (a // 2),
                                                                                 "mod(a, 2) + 2*floordiv(a, 2)"),
    (largest(a, 1), "a"), (largest(a, b), "max(a, b)"), (smallest(a, 3), "min(a, 3)"), (smallest(a, 1), "1"),
])
def test_arithmetic_gives_one_form(size, text):
    assert str(size) == text
    scope = a.scope
    assert parse_size(text, scope) == size


def test_inequalities_are_chained():
    first, *_, last = symbolic_shape("a, b, c, d, e", constraints=["a >= b", "b >= c", "c >= d", "d >= e"])
    assert first >= last


def test_bounds_of_many_extrema_are_found_by_few_steps(monkeypatch):
    """Slices of slices ask for bounds of max, min and floordiv of each other."""
    seen = []
    reductions = bounds._reductions
    monkeypatch.setattr(bounds, "_reductions", lambda *args: seen.append(args) or reductions(*args))
    n, = symbolic_shape("n")
    for start in range(10):
        stop = largest(n - n % 2, 0)
        length = (largest(stop, start) - smallest(stop, start) + 1) // 2
        assert largest(length, 0) >= 0 and n + length >= length
    assert len(seen) < 3000


def test_powers_are_integers():
    with pytest.raises(ValueError, match="cannot be raised to non-integer powers: 'a'"):
        a ** 1.5


def test_numbers_come_out_as_int():
    assert type(a // a) is int and type(a - a + 3) is int and isinstance(a + 1, SymbolicDim)
    assert hash(a + b - b) == hash(a) and a + b - b == a and a != b and a != 1 and a != 1.0 and not a == "a"


def _random_size(rng, depth):
    if depth == 0:
        return rng.choice([a, b, c, rng.randint(-3, 4), 1, 2])
    x, y = _random_size(rng, depth - 1), _random_size(rng, depth - 1)
    kind = rng.randrange(8)
    if kind < 3:
        return (x + y, x - y, x * y)[kind]
    if kind < 5:
        y = y if isinstance(y, int) and y else rng.choice([2, 3, -2, a, a + b])
        return x // y if kind == 3 else x % y
    return (largest(x, y), smallest(x, y), x + 1)[kind - 5]


@pytest.mark.parametrize("seed", range(40))
def test_values_of_random_expressions(seed):
    """The same operations on numbers and on dimensions; the text of an expression is read back as the same expression."""
    rng = random.Random(seed)
    steps = [(rng.randrange(7), rng.randrange(12), rng.randrange(12)) for _ in range(9)]
    points = list(itertools.product((1, 2, 7), repeat=3))

    symbolic = _run(steps, a, b, c)
    for point in points:
        values = dict(zip("abc", point, strict=True))
        numbers = [substituted(s, values) for s in symbolic]
        assert numbers == _as_numbers(steps, symbolic, point)
    for s in symbolic:
        assert parse_size(str(s), a.scope) == s


def _applied(kind, p, q, positive, factor):
    if kind < 3:
        return p + q if kind == 0 else p - q if kind == 1 else p * factor
    if kind < 5:
        return p // positive if kind == 3 else p % positive
    return largest(p, q) if kind == 5 else smallest(p, q)


def _run(steps, x, y, z):
    """The results of steps, each on two results of earlier ones."""
    pool = [x, y, z, 1, 2, 3, -1]
    for kind, i, j in steps:
        p, q = pool[i % len(pool)], pool[j % len(pool)]
        pool.append(_applied(kind, p, q, q if isinstance(q, int) and q > 0 else 2 + x, q if isinstance(q, int) else x))
    return pool[7:]


def _as_numbers(steps, symbolic, point):
    """The steps with numbers, where a divisor is a number exactly where the symbolic run had one."""
    pool, shapes = [*point, 1, 2, 3, -1], [a, b, c, 1, 2, 3, -1]
    for (kind, i, j), made in zip(steps, symbolic, strict=True):
        p, q, form = pool[i % len(pool)], pool[j % len(pool)], shapes[j % len(pool)]
        divisor = q if isinstance(form, int) and form > 0 else 2 + point[0]
        factor = q if isinstance(form, int) else point[0]
        pool.append(_applied(kind, p, q, divisor, factor))
        shapes.append(made)
    return pool[7:]


@pytest.mark.parametrize("seed", range(40))
def test_decided_comparisons_hold_for_all_values(seed):
    rng = random.Random(seed)
    x, y = _random_size(rng, 2), _random_size(rng, 2)
    found = compare(x, y, ">=") if isinstance(x, SymbolicDim) or isinstance(y, SymbolicDim) else None
    for point in itertools.product((1, 2, 3, 8), repeat=3):
        values = dict(zip("abc", point, strict=True))
        if found is not None:
            assert (substituted(x, values) >= substituted(y, values)) == found


@pytest.mark.parametrize("constraints, expression, value", [
    ([], "a >= 1", True), ([], "a + b >= 2", True), ([], "a * b >= 1", True), ([], "a % 3 < 3", True),
    ([], "a // 3 <= a", True),
    ([], "a >= 2", None), ([], "a < b", None), ([], "a <= 0", False), ([], "largest(a, b) >= a", True),
    ([], "smallest(a, b) <= b", True), ([], "a - smallest(a, 3) >= 0", True), (["a >= 8"], "a >= 4", True),
    (["a >= 8"], "a // 2 >= 4", True), (["a >= b"], "a >= b", True), (["a >= b"], "2 * a >= b + a", True),
    (["a >= b", "b >= c"], "a >= c", True), (["a <= 4"], "a >= 8", False), (["a <= 4"], "a % 8 <= 4", True),
    (["a + b >= 10"], "a + b >= 9", True), (["max(a, b) <= 5"], "b <= 5", True), (["floordiv(a, 2) >= 3"], "a >= 6", True),
    (["mod(a, 8) == 0"], "a % 8 == 0", True), (["mod(a, 8) == 0"], "8 * (a // 8) == a", True),
    (["a == 2*b"], "a == b + b", True),
    (["4*a == b"], "b >= 3 * a", True), (["4*a == b"], "9 * a >= 2 * b", True), (["max(a, b) == c"], "c >= a", True),
    ([], "(b + 1) % -2 >= -1", True), ([], "(a + 4) // -2 <= -3", True), ([], "-5 - a % -5 < 0", True),
    ([], "-11 // -a <= 11", True),
    (["a == 4"], "a + 1 == 5", True), (["a*b == c"], "a * b == c", True), (["a*b == c"], "a * b * c == c * c", True),
])
def test_comparisons_under_constraints(constraints, expression, value):
    names = dict(zip("abc", symbolic_shape("a, b, c", constraints=constraints), strict=True))
    found = lambda: eval(expression, {**names, "largest": largest, "smallest": smallest})
    if value is None:
        with pytest.raises(InconclusiveDimensionOperation, match="inconclusive"):
            found()
    else:
        assert found() is value


@pytest.mark.parametrize("spec, like, shape", [
    ("a, b", None, "(a, b)"), ("(a, 2*b)", None, "(a, 2*b)"), ("a,", None, "(a,)"), ("", None, "()"), ("()", None, "()"),
    ("2, 3", None, "(2, 3)"), ("a, ...", (2, 3), "(a, 3)"), ("_, b", (2, 3), "(2, b)"), ("...", (2, 3), "(2, 3)"),
    (None, (2, 3), "(2, 3)"),
    ("+ a, a^2 + b*a + b + a + b^2, b^2*a + a^2*b", None, "(a, a*b + b^2 + a^2 + b + a, a*b^2 + a^2*b)"),
    ("max(b, a), min(1, b)", None, "(max(a, b), 1)"),
    ("max(a, b), mod(a, 2), floordiv(b, 3), a^2", None, "(max(a, b), mod(a, 2), floordiv(b, 3), a^2)"),
])
def test_shapes_from_text(spec, like, shape):
    assert str(symbolic_shape(spec, like=like)) == shape


@pytest.mark.parametrize("spec, like, phrase", [
    ("...", None, "no 'like' shape was given"), ("_", None, "no 'like' shape was given"), ("a b", None, "expecting ','"),
    ("a*", None, "a name or a number"), ("max(a, b", None, "expecting '\\)'"), ("floordiv(a)", None, "expecting ','"),
    ("a!", None, "expecting ','"), ("4, a", (2, 3), "different size 4"), ("a", (2, 3), "has 1 dimensions"),
    (3, None, "spec should be None or a string"), ("a, b, c, _", (1, 2, 3), "we parsed 3 already"),
    ("a, b, c, ...", (1, 2), "shape has only 2 dimensions"),
])
def test_other_text_is_refused(spec, like, phrase):
    with pytest.raises(ValueError, match=phrase):
        symbolic_shape(spec, like=like)


@pytest.mark.parametrize("constraints, phrase", [
    ("a >= 8", "sequence of strings"), (["a = 3"], "must contain one of"), (["a < 0"], "must contain one of"),
    (["a >= 4", "a <= 3"], "Unsatisfiable"), (["3 == 4"], "Unsatisfiable"), (["3 >= 4"], "Unsatisfiable"),
    (["a == a + 1"], "Unsatisfiable explicit constraint: a == a [+] 1"),
    (["a + b == c + 1"], "single term"),
])
def test_other_constraints_are_refused(constraints, phrase):
    with pytest.raises(ValueError, match=phrase):
        SymbolicScope(constraints)


def test_scopes_do_not_mix():
    other, = symbolic_shape("a")
    assert other != a
    for f in (lambda: a + other, lambda: a >= other, lambda: largest(a, other)):
        with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
            f()
    with pytest.raises(ValueError, match=r"(?s)for linear combination\..* created at .*test_symbolic.py:\d+ \(.*found for 'a'"):
        _ = a + other
    with pytest.raises(ValueError, match="not both"):
        symbolic_shape("a", scope=a.scope, constraints=["a >= 2"])


@pytest.mark.parametrize("f", [lambda: range(a), lambda: int(a), lambda: float(a), lambda: [1, 2][a]])
def test_a_dimension_is_no_number(f):
    with pytest.raises((TypeError, InconclusiveDimensionOperation)):
        f()


@pytest.mark.parametrize("spec, sizes, values", [
    ("a, b", (2, 3), {"a": 2, "b": 3}), ("a + 2*b, a, a + b + c", (8, 2, 9), {"a": 2, "b": 3, "c": 4}), ("3*a", (6,), {"a": 2}),
    ("a, a + 8", (4, 12), {"a": 4}), ("a, a*b", (2, 6), {"a": 2, "b": 3}), ("5 - a", (2,), {"a": 3}),
    ("a, floordiv(a, 2) + b", (5, 6), {"a": 5, "b": 4}),
])
def test_solutions(spec, sizes, values):
    shape = symbolic_shape(spec)
    axes = [Axis(f"args[0].shape[{k}]", s, n) for k, (s, n) in enumerate(zip(shape, sizes, strict=True))]
    assert solve(axes, shape[0].scope, spec) == values


@pytest.mark.parametrize("spec, sizes, constraints, phrase", [
    ("3*a", (7,), (), "Division had remainder 1"), ("a + 1", (1,), (), "Expected value >= 1 for dimension variable 'a'"),
    ("a, a", (2, 3), (), "Found inconsistency"), ("a*a", (4,), (), "Cannot solve"), ("a*b", (4,), (), "Cannot solve"),
    ("mod(a, 3)", (1,), (), "Cannot solve"), ("a", (3,), ["a >= 4"], "'a >= 4' does not hold"),
    ("a, b", (3, 4), ["a == b"], "inconsistency"), ("a", (3,), ["a >= m"], "Encountered dimension variable 'm'"),
    ("a", (3,), ["mod(a, 2) == 0"], "does not hold"),
])
def test_sizes_that_do_not_fit(spec, sizes, constraints, phrase):
    shape = symbolic_shape(spec, constraints=constraints)
    axes = [Axis(f"args[0].shape[{k}]", s, n) for k, (s, n) in enumerate(zip(shape, sizes, strict=True))]
    with pytest.raises(ValueError, match=phrase):
        solve(axes, shape[0].scope, spec)
