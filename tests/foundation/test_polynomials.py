"""Polynomials from their values, and their bounds."""
import pytest

from numjet.foundation.decisions import Varying, quotient, recorded, sampling
from numjet.foundation.polynomials import Interpolation

POINTS = [(261, 220), (197, 363), (335, 312), (220, 335), (290, 181), (181, 207), (363, 197), (235, 290)]


@pytest.mark.parametrize("value", [
    lambda a, b: 7, lambda a, b: 3 * a - 2, lambda a, b: a * b + 5 * b * b - 1, lambda a, b: 64 * a + b], ids=range(4))
def test_polynomials_are_found(value):
    found = Interpolation(POINTS, 2)([value(*p) for p in POINTS])
    assert [found.at(p) for p in ((1, 1), (5, 9), (0, 3))] == [value(1, 1), value(5, 9), value(0, 3)]


@pytest.mark.parametrize("value", [lambda a, b: a // 7, lambda a, b: a % 2, lambda a, b: a.bit_length(), lambda a, b: a ** 3,
                                   lambda a, b: a * (a - 1) // 2 + a // 16 * 16], ids=range(5))
def test_other_values_are_refused(value):
    assert Interpolation(POINTS, 2)([value(*p) for p in POINTS]) is None


def test_quotients_that_occur():
    fit = Interpolation(POINTS, 2)
    rests = [a - 8 * (a // 8) for a, _ in POINTS]
    assert fit(rests) is None
    fit.add_quotient([a for a, _ in POINTS], {8})
    rest = fit(rests)
    assert [rest.at((n, 1)) for n in range(20)] == [n % 8 for n in range(20)]
    assert rest.bounds((1, 1), (1000, 1)) == (0, 7)
    assert fit([a // 8 * b for a, b in POINTS]).at((17, 3)) == 6


def test_sizes_that_follow_from_others():
    points = [(a, (a + 1) // 2) for a, _ in POINTS]
    fit = Interpolation(points, 1)
    assert fit([64 * q + a for a, q in points]).at((3, 2)) == 131
    assert fit([0, *[q for _, q in points[1:]]]) is None


def test_decisions_are_noted_while_sampling_only():
    assert quotient(9, 4) == 2 and type(quotient(9, 4)) is int and not sampling()
    with recorded() as found:
        assert type(quotient(9, 4)) is Varying and sampling()
    assert found.quotients == [(9, 4)]
