"""Symbolic dimensions as polynomials with integer coefficients.

The variables of a polynomial are dimension variables and operations (floordiv, mod, max, min) on polynomials. A polynomial has
one form: its terms in graded order, equal terms added, the equalities of its scope applied. So equality of forms is equality
of dimensions as far as algebra shows it.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from numjet.foundation.dimension import Dimension

if TYPE_CHECKING:
    from numjet.foundation.symbolic.scope import SymbolicScope

Size: TypeAlias = Union[int, "SymbolicDim"]


class Operation:
    """An operation on dimensions that is no polynomial. Compared by its text, which has one form."""

    __slots__ = ("name", "args", "text")

    def __init__(self, name: str, args: tuple[Size, ...]):
        self.name, self.args, self.text = name, args, f"{name}({', '.join(map(str, args))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


Factor: TypeAlias = str | Operation
Monomial: TypeAlias = tuple[tuple[Factor, int], ...]  # factors with their exponents, sorted
Terms: TypeAlias = dict[Monomial, int]


def _factor_key(power: tuple[Factor, int]) -> tuple[bool, str]:
    return isinstance(power[0], Operation), str(power[0])


def _term_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[bool, str, int]]]:
    """Graded lexicographic order, later variables first: terms of a higher degree stand in front."""
    monomial = term[0]
    return sum(e for _, e in monomial), [(*_factor_key(p), p[1]) for p in reversed(monomial)]


def _text_key(term: tuple[Monomial, int]) -> tuple[int, int, Any]:
    """The order of terms in texts: those with operations, and with more factors, stand in front."""
    operations = sum(isinstance(factor, Operation) for factor, _ in term[0])
    return operations, len(term[0]), _term_key(term)


class SymbolicDim(Dimension):
    """The size of an axis as an expression in dimension variables, which are at least 1. Made by `export.symbolic_shape`.

    Arithmetic with integers and others of the same scope gives expressions. `==` is true where both have the same value for
    all values of the variables. An order comparison that is true for some values and false for others raises
    InconclusiveDimensionOperation. Arithmetic with arrays and floats takes the size as an integer array.
    """

    __slots__ = ("terms", "scope", "_hash")
    __array_ufunc__ = None  # operators of NumPy arrays leave the operation to this class
    terms: tuple[tuple[Monomial, int], ...]
    scope: SymbolicScope

    def __init__(self, terms: Terms, scope: SymbolicScope):
        self.terms = tuple(sorted(terms.items(), key=_term_key, reverse=True))
        self.scope = scope
        self._hash = hash(self.terms)

    # -- polynomials
    def __add__(self, other: Any) -> Any:
        return _sum(self, other, 1) if is_size(other) else self.__jax_array__() + other

    def __radd__(self, other: Any) -> Any:
        return _sum(self, other, 1) if is_size(other) else other + self.__jax_array__()

    def __sub__(self, other: Any) -> Any:
        return _sum(self, other, -1) if is_size(other) else self.__jax_array__() - other

    def __rsub__(self, other: Any) -> Any:
        return -self + other if is_size(other) else other - self.__jax_array__()

    def __mul__(self, other: Any) -> Any:
        return _product(self, other) if is_size(other) else self.__jax_array__() * other

    def __rmul__(self, other: Any) -> Any:
        return _product(self, other) if is_size(other) else other * self.__jax_array__()

    def __neg__(self) -> Size:
        return _product(self, -1)

    def __pos__(self) -> SymbolicDim:
        return self

    def __abs__(self) -> Size:
        return self if self >= 0 else -self

    def __pow__(self, power: Any, modulo: None = None) -> Any:
        if isinstance(power, (float, np.floating)):
            raise ValueError(f"Symbolic dimension cannot be raised to non-integer powers: '{self}' ** '{power}'. Take "
                             "jnp.power of it, which is an array.")
        if not isinstance(power, (int, np.integer)):
            return self.__jax_array__() ** power
        if power < 0:
            raise ValueError(f"Symbolic dimension cannot be raised to negative powers: '{self}' ** '{power}'")
        return prod([self] * int(power))

    def __rpow__(self, other: Any) -> Any:
        return other ** self.__jax_array__()

    # -- operations
    def __floordiv__(self, other: Any) -> Any:
        return floordiv(self, other) if is_size(other) else self.__jax_array__() // other

    def __rfloordiv__(self, other: Any) -> Any:
        return floordiv(other, self) if is_size(other) else other // self.__jax_array__()

    def __mod__(self, other: Any) -> Any:
        return mod(self, other) if is_size(other) else self.__jax_array__() % other

    def __rmod__(self, other: Any) -> Any:
        return mod(other, self) if is_size(other) else other % self.__jax_array__()

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return self.__jax_array__() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.__jax_array__()

    def largest(self, other: Any) -> Size:
        return extremum("max", self, other)

    def smallest(self, other: Any) -> Size:
        return extremum("min", self, other)

    # -- comparisons
    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymbolicDim):
            return self.scope is other.scope and self.terms == other.terms
        return False

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, ">=") if is_size(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, ">") if is_size(other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "<=") if is_size(other) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "<") if is_size(other) else NotImplemented

    def _compare(self, other: Size, sign: str) -> bool:
        found = compare(self, other, sign)
        if found is None:
            raise self.scope.inconclusive(self, other, sign)
        return found

    def __bool__(self) -> bool:
        known = compare(self, 0, ">"), compare(self, 0, "<")
        if True in known:
            return True
        if not self.scope.computed:
            raise self.scope.inconclusive(self, 0, "!=")
        self.scope.expect(self - 1)
        return True

    def variables(self) -> set[str]:
        """See Dimension."""
        return variables_of(self)

    def is_empty(self) -> bool:
        """False. A computed size of 0 is an error when the program runs."""
        if self.scope.computed and not compare(self, 0, ">"):
            self.scope.expect(self - 1)
        return False

    def may_hold(self, count: int) -> bool:
        """See Dimension."""
        return compare(self, count, ">=") is not False if self.scope.computed else self >= count

    def is_positive(self) -> bool:
        """See Dimension."""
        if self.scope.computed and compare(self, 0, ">") is None:
            self.scope.expect(-self)
            return False
        return self > 0

    def __int__(self) -> int:
        raise self.scope.no_number(self)

    def __jax_array__(self) -> Any:
        """The size as an integer scalar of the program that is being traced."""
        return _array_of[0](self)

    # -- text
    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in sorted(self.terms, key=_text_key, reverse=True):
            size = abs(coefficient)
            factors = [f"{f}^{e}" if e > 1 else str(f) for f, e in monomial]
            shown = "*".join([str(size)] * (size != 1 or not factors) + factors)
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {shown}" if text else shown if coefficient > 0 else f"- {shown}"
        return text

    __repr__ = __str__

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicDim:
        return self


_array_of: list[Callable[[SymbolicDim], Any]] = []


def set_array_of(make: Callable[[SymbolicDim], Any]) -> None:
    """Called by lax.shape.dimension with the operation that gives a size as an array."""
    _array_of[:] = [make]


def is_size(x: Any) -> bool:
    """Whether a value is an integer that operators take as a size: an array is, if it is NumPy's and has no axes."""
    if type(x) is np.ndarray:
        return x.ndim == 0 and x.dtype.kind in "iu"
    return isinstance(x, (SymbolicDim, int, np.integer)) and not isinstance(x, bool)


def scope_of(*sizes: Size, what: str = "") -> SymbolicScope:
    """The scope of those that are symbolic. ValueError where they differ, in what is made of them."""
    found = [x for x in sizes if isinstance(x, SymbolicDim)]
    for other in found[1:]:
        if other.scope is not found[0].scope:
            raise ValueError(f"Invalid mixing of symbolic scopes for {what or f'{found[0]} and {other}'}.\n"
                             f"Expected {found[0].scope}\n"
                             f"and found for '{other}' {other.scope}\nMake all symbolic shapes of a function with one scope.")
    return found[0].scope


# ------------------------------------------------------------------------------------------------ polynomials

def terms_of(x: Size) -> Terms:
    return dict(x.terms) if isinstance(x, SymbolicDim) else {(): int(x)} if x else {}


def polynomial(terms: Terms, scope: SymbolicScope) -> Size:
    """The dimension with these terms, with the equalities of the scope applied; an int where no variable is left."""
    terms = scope.rewritten({m: c for m, c in terms.items() if c})
    return terms.get((), 0) if not any(terms) else SymbolicDim(terms, scope)


def variable(name: str, scope: SymbolicScope) -> Size:
    return polynomial({((name, 1),): 1}, scope)


def _operation(name: str, args: tuple[Size, ...]) -> Size:
    known = tuple(a if isinstance(a, SymbolicDim) else int(a) for a in args)
    return polynomial({((Operation(name, known), 1),): 1}, scope_of(*args))


def _sum(a: Size, b: Size, sign: int) -> Size:
    scope, terms = scope_of(a, b, what="linear combination"), terms_of(a)
    for monomial, coefficient in terms_of(b).items():
        terms[monomial] = terms.get(monomial, 0) + sign * coefficient
    return polynomial(terms, scope)


def _product(a: Size, b: Size) -> Size:
    terms: Terms = {}
    for m, c in terms_of(a).items():
        for n, d in terms_of(b).items():
            both = times(m, n)
            terms[both] = terms.get(both, 0) + c * d
    return polynomial(terms, scope_of(a, b))


def times(m: Monomial, n: Monomial) -> Monomial:
    powers = dict(m)
    for factor, exponent in n:
        powers[factor] = powers.get(factor, 0) + exponent
    return tuple(sorted(powers.items(), key=_factor_key))


def over(m: Monomial, n: Monomial) -> Monomial | None:
    """m / n; None where n does not divide m."""
    powers = dict(m)
    for factor, exponent in n:
        powers[factor] = powers.get(factor, 0) - exponent
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(sorted(((f, e) for f, e in powers.items() if e), key=_factor_key))


# ------------------------------------------------------------------------------------------------ operations

def compare(a: Size, b: Size, sign: str) -> bool | None:
    """Whether a comparison holds; None where that depends on the variables."""
    if sign in ("<=", "<"):
        a, b = b, a
    difference = a - b
    if sign in (">", "<"):
        difference = difference - 1
    if not isinstance(difference, SymbolicDim):
        return difference >= 0
    return difference.scope.is_natural(difference)


def _division(a: Size, b: Size) -> tuple[Size, Size]:
    """Polynomial division: q and r with a = q * b + r, where no term of r is divisible by the leading one of b."""
    lead, leading = next(iter(b.terms)) if isinstance(b, SymbolicDim) else ((), b)
    quotient: Size = 0
    rest: Size = a
    done: Size = 0  # terms that are not divisible
    while isinstance(rest, SymbolicDim) or rest:
        monomial, coefficient = rest.terms[0] if isinstance(rest, SymbolicDim) else ((), rest)
        term = polynomial({monomial: coefficient}, scope_of(a, b))
        factor = over(monomial, lead)
        divisible = factor is not None and (coefficient % leading == 0 or not monomial)
        if divisible and factor is not None and coefficient // leading:
            part = polynomial({factor: coefficient // leading}, scope_of(a, b))
            quotient, rest = quotient + part, rest - part * b
            done = done + (rest if not monomial else 0)
            rest = 0 if not monomial else rest
        else:
            done, rest = done + term, rest - term
    return quotient, done


def _quotient(a: Size, b: Size) -> Size | None:
    """floor(a / b) as a polynomial, where the remainder shows that it is one."""
    quotient, rest = _division(a, b)
    if rest == 0:
        return quotient
    if compare(b, 0, ">"):
        if compare(rest, 0, ">=") and compare(rest, b, "<"):
            return quotient
        if compare(rest, 0, "<") and compare(rest + b, 0, ">="):
            return quotient - 1
    return None


def _checked_quotient(name: str, a: Size, b: Size) -> Size | None:
    """_quotient of sizes of one scope, for an operation of that name. ZeroDivisionError for the divisor 0."""
    scope_of(a, b)
    if not isinstance(b, SymbolicDim) and b == 0:
        raise ZeroDivisionError(f"{name}({a}, 0)")
    return _quotient(a, b)


def floordiv(a: Size, b: Size) -> Size:
    """The quotient, rounded down."""
    if isinstance(b, SymbolicDim) or isinstance(a, SymbolicDim):
        found = _checked_quotient("floordiv", a, b)
        return _operation("floordiv", (a, b)) if found is None else found
    return a // b


def mod(a: Size, b: Size) -> Size:
    """The remainder of floordiv."""
    if isinstance(b, SymbolicDim) or isinstance(a, SymbolicDim):
        found = _checked_quotient("mod", a, b)
        return _operation("mod", (a, b)) if found is None else a - found * b
    return a % b


def extremum(name: str, a: Size, b: Size) -> Size:
    """max or min."""
    if not isinstance(a, SymbolicDim) and not isinstance(b, SymbolicDim):
        return max(a, b) if name == "max" else min(a, b)
    if compare(a, b, ">="):
        return a if name == "max" else b
    if compare(a, b, "<="):
        return b if name == "max" else a
    if scope_of(a, b).computed:
        above = positive_part(a - b)
        return b + above if name == "max" else a - above
    if isinstance(a, int) or (isinstance(b, SymbolicDim) and str(b) < str(a)):  # one form for both orders
        a, b = b, a
    return _operation(name, (a, b))


def positive_part(x: Size) -> Size:
    """max(x, 0), in one form for x and -x, so that sizes made of different maxima and minima can be seen to be equal."""
    if not isinstance(x, SymbolicDim):
        return max(x, 0)
    if x.terms[0][1] < 0:
        return x + _operation("max", (-x, 0))
    return _operation("max", (x, 0))


OPERATIONS: dict[str, Callable[[Size, Size], Size]] = {
    "floordiv": floordiv, "mod": mod, "max": functools.partial(extremum, "max"), "min": functools.partial(extremum, "min")}


def substituted(x: Any, values: Mapping[str, Size]) -> Any:
    """A size with values for variables, and for operations by their text. Those without a value stay.

    >>> from numjet import export
    >>> a, = export.symbolic_shape("a")
    >>> substituted(2 * a + 1, {"a": 3})
    7
    """
    if not isinstance(x, SymbolicDim):
        return x
    total: Size = 0
    for monomial, coefficient in x.terms:
        total = total + coefficient * prod(_value(f, values, x.scope) ** e for f, e in monomial)
    return total


def _value(factor: Factor, values: Mapping[str, Size], scope: SymbolicScope) -> Size:
    if str(factor) in values:
        return values[str(factor)]
    if isinstance(factor, str):
        return variable(factor, scope)
    a, b = (substituted(arg, values) for arg in factor.args)
    return OPERATIONS[factor.name](a, b)


def operations_of(x: Size) -> dict[str, Operation]:
    """The operations in a size, inner ones included, by their text."""
    found: dict[str, Operation] = {}
    for monomial, _ in x.terms if isinstance(x, SymbolicDim) else ():
        for factor, _ in monomial:
            if isinstance(factor, Operation):
                found[factor.text] = factor
                for arg in factor.args:
                    found.update(operations_of(arg))
    return found


def variables_of(x: Size) -> set[str]:
    """The names of the variables in a size."""
    factors = [f for monomial, _ in (x.terms if isinstance(x, SymbolicDim) else ()) for f, _ in monomial]
    inner = [variables_of(arg) for f in factors if isinstance(f, Operation) for arg in f.args]
    return {f for f in factors if isinstance(f, str)}.union(*inner)
