"""One step of methods for ordinary differential equations: embedded Runge-Kutta methods, and one of Rosenbrock's type.

A step gives the solution, its slope, an estimate of its error, and a polynomial that interpolates it, mostly a quartic.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import jacfwd
from numjet.foundation import lazy_import
from numjet.scipy.linalg import lu_factor, lu_solve

_integrate = lazy_import.Module("scipy.integrate")
Field = Callable[[Any, Any], Any]  # (y, t) -> slope


class Step(NamedTuple):
    """The end of a step: the solution, its slope, the error of the solution, and the coefficients of the polynomial in the
    share of the step, highest first."""

    y: Any
    slope: Any
    error: Any
    quartic: Any


class Method(NamedTuple):
    """A method: its step(fun, y, slope, t, dt), the order by which steps are controlled, evaluations, Jacobians and
    factorizations of a step, and the degree of the polynomial that interpolates."""

    step: Callable[..., Step]
    order: int
    evaluations: int
    jacobians: int
    degree: int = 4


def weighted(weights: np.ndarray, rows: Any) -> Any:
    """Sums of rows, with each row of the weights."""
    return jnp.tensordot(jnp.asarray(weights, rows.dtype), rows, 1, precision="highest")


# -------------------------------------------------------------------------------------------- Runge-Kutta

class Tableau(NamedTuple):
    """Coefficients: nodes and rows of the stages behind the first, the last of which is at the solution; weights of the error
    and of the solution in the middle of the step."""

    nodes: np.ndarray
    stages: np.ndarray
    error: np.ndarray
    middle: np.ndarray


# Coefficients, highest first, of the quartic in the share of the step with given values at start, end and middle, and slopes
# times the step at start and end.
QUARTIC = np.array([
    [-8, -8, 16, -2, 2],
    [18, 14, -32, 5, -3],
    [-11, -5, 16, -4, 1],
    [0, 0, 0, 1, 0],
    [1, 0, 0, 0, 0],
])


def _square(rows: list[list[float]]) -> np.ndarray:
    return np.array([[*row, *[0.0] * (len(rows) + 1 - len(row))] for row in rows])


def _hermite_middle(weights: np.ndarray) -> np.ndarray:
    """The cubic through values and slopes at both ends, in the middle."""
    ends = np.zeros(len(weights))
    ends[0], ends[-1] = 1 / 8, -1 / 8
    return 0.5 * weights + ends


# P. Bogacki and L. F. Shampine, "A 3(2) pair of Runge-Kutta formulas" (1989)
_RK23_STAGES = _square([[1 / 2], [0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]])
_RK23 = Tableau(np.array([1 / 2, 3 / 4, 1]), _RK23_STAGES, _RK23_STAGES[-1] - np.array([7 / 24, 1 / 4, 1 / 3, 1 / 8]),
                 _hermite_middle(_RK23_STAGES[-1]))

# J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae" (1980); the middle: L. F. Shampine, "Some
# practical Runge-Kutta formulas" (1986)
_RK45_STAGES = _square([
    [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
])
RK45 = Tableau(
    np.array([1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]), _RK45_STAGES,
    _RK45_STAGES[-1] - np.array([5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]),
    np.array([6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728, 187940372067 / 1594534317056,
              -1776094331 / 19743644256, 11237099 / 235043384]) / 2)

# Ch. Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption" (2011)
_TSIT5_STAGES = _square([
    [0.161], [-0.008480655492356989, 0.335480655492357], [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
    [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
    [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
    [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
])


def _tsit5_middle() -> np.ndarray:
    """Tsitouras's interpolating weights, at a half."""
    x = 0.5
    return np.array([
        -1.0530884977290216 * x * (x - 1.3299890189751412) * (x * x - 1.4364028541716351 * x + 0.7139816917074209),
        0.1017 * x * x * (x * x - 2.1966568338249754 * x + 1.2949852507374631),
        2.490627285651252793 * x * x * (x * x - 2.38535645472061657 * x + 1.57803468208092486),
        -16.54810288924490272 * (x - 1.21712927295533244) * (x - 0.61620406037800089) * x * x,
        47.37952196281928122 * (x - 1.203071208372362603) * (x - 0.658047292653547382) * x * x,
        -34.87065786149660974 * (x - 1.2) * (x - 0.666666666666666667) * x * x,
        2.5 * (x - 1) * (x - 0.6) * x * x,
    ])


_TSIT5 = Tableau(
    np.array([0.161, 0.327, 0.9, 0.9800255409045097, 1, 1]), _TSIT5_STAGES,
    np.array([-0.00178001105222577714, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629, 0.5823571654525552,
              -0.45808210592918697, 0.015151515151515152]), _tsit5_middle())


def _runge_kutta(tableau: Tableau) -> Callable[..., Step]:
    def step(fun: Field, y: Any, slope: Any, t: Any, dt: Any) -> Step:
        h = dt.astype(y.dtype)
        slopes, end = [slope], y
        for row, node in zip(tableau.stages.tolist(), tableau.nodes.tolist(), strict=True):
            known = [(c, k) for c, k in zip(row, slopes, strict=False) if c]
            end = y + h * sum((c * k for c, k in known[1:]), known[0][0] * known[0][1])
            slopes.append(fun(end, t + dt * node))
        k = jnp.stack(slopes)
        middle = y + h * weighted(tableau.middle, k)
        quartic = weighted(QUARTIC, jnp.stack([y, end, middle, h * k[0], h * k[-1]]))
        return Step(end, k[-1], h * weighted(tableau.error, k), quartic)
    return step


# -------------------------------------------------------------------------------------------- order 8

class _Order8(NamedTuple):
    """Coefficients of DOP853: nodes and rows of the stages, also of three that serve interpolation alone; weights of the
    solution, of two errors, of terms of the interpolation, and the polynomials that multiply all its terms."""

    nodes: np.ndarray
    stages: np.ndarray
    weights: np.ndarray
    fifth: np.ndarray
    third: np.ndarray
    more_nodes: np.ndarray
    more_stages: np.ndarray
    dense: np.ndarray
    powers: np.ndarray


@functools.cache
def _order_8() -> _Order8:
    """E. Hairer, S. P. Norsett and G. Wanner, "Solving ordinary differential equations I" (1993), section II.10; the
    numbers are public attributes of SciPy's DOP853."""
    found = _integrate.DOP853
    powers = np.zeros((8, 7))
    factor = np.poly1d([1.0])
    for j in range(7):  # alternately x and 1 - x
        factor = factor * np.poly1d([1.0, 0.0] if j % 2 == 0 else [-1.0, 1.0])
        powers[8 - len(factor.coeffs):, j] = factor.coeffs
    return _Order8(found.C[1:], found.A[1:], found.B, found.E5, found.E3, found.C_EXTRA, found.A_EXTRA, found.D, powers)


def _sum_of(row: np.ndarray, slopes: Sequence[Any]) -> Any:
    known = [float(c) * k for c, k in zip(row, slopes, strict=False) if c]
    return sum(known[1:], known[0])


def _dop853(fun: Field, y: Any, slope: Any, t: Any, dt: Any) -> Step:
    m, h, slopes = _order_8(), dt.astype(y.dtype), [slope]
    for row, node in zip(m.stages, m.nodes, strict=True):
        slopes.append(fun(y + h * _sum_of(row, slopes), t + dt * float(node)))
    end = y + h * _sum_of(m.weights, slopes)
    slopes.append(fun(end, t + dt))
    fifth, third = _sum_of(m.fifth, slopes), _sum_of(m.third, slopes)
    first, second = (jnp.sum((v * jnp.conj(v)).real) for v in (fifth, third))
    total = first + 0.01 * second  # the estimate of order 5 by its share in both, as DOP853 has it
    share = jnp.where(total == 0, 0, jnp.sqrt(first / jnp.where(total == 0, 1, total)))
    last = slopes[-1]
    for row, node in zip(m.more_stages, m.more_nodes, strict=True):
        slopes.append(fun(y + h * _sum_of(row, slopes), t + dt * float(node)))
    gap = end - y
    terms = [gap, h * slope - gap, 2 * gap - h * (last + slope), *(h * _sum_of(row, slopes) for row in m.dense)]
    polynomial = weighted(m.powers, jnp.stack(terms)).at[-1].add(y)
    return Step(end, last, h * fifth * share.astype(y.dtype), polynomial)


# -------------------------------------------------------------------------------------------- Rosenbrock

# RODAS of E. Hairer and G. Wanner, "Solving ordinary differential equations II" (2nd edition, 1996), section VI.4: order 4(3),
# L-stable and stiffly accurate, in the form with one solution of a system per stage.
_GAMMA = 0.25
_A = _square([[1.544], [0.9466785280815826, 0.2557011698983284], [3.314825187068521, 2.896124015972201, 0.9986419139977817],
              [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895]])
_C = _square([[-5.6688], [-2.430093356833875, -0.2063599157091915],
              [-0.1073529058151375, -9.594562251023355, -20.47028614809616],
              [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616],
              [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054]])
_C_NODES, _D = np.array([0.386, 0.21, 0.63, 1.0, 1.0]), np.array([0.25, -0.1043, 0.1035, -0.0362])
_DENSE = np.array([[10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662],
                   [-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872]])


def _rosenbrock(fun: Field, y: Any, slope: Any, t: Any, dt: Any) -> Step:
    h = dt.astype(y.dtype)
    by_y, by_t = jacfwd(fun)(y, t), jacfwd(fun, 1)(y, t)
    factors = lu_factor(jnp.eye(y.size, dtype=y.dtype) / (h * _GAMMA) - by_y)
    at_start = [lu_solve(factors, slope + h * _D[0] * by_t)]
    stages, point = at_start, y
    for i in range(5):
        mixed = weighted(_C[i, :i + 1], jnp.stack(stages)) / h
        if i < 4:
            point = y + weighted(_A[i, :i + 1], jnp.stack(stages))
        else:
            point = point + stages[-1]
        right = fun(point, t + dt * _C_NODES[i]) + mixed
        stages.append(lu_solve(factors, right + h * _D[i + 1] * by_t if i < 3 else right))
    end = point + stages[-1]
    second, third = weighted(_DENSE, jnp.stack(stages[:5]))
    quartic = jnp.stack([jnp.zeros_like(y), -third, third - second, end - y + second, y])
    return Step(end, fun(end, t + dt), stages[-1], quartic)


METHODS = {
    "RK23": Method(_runge_kutta(_RK23), 3, 3, 0),
    "RK45": Method(_runge_kutta(RK45), 5, 6, 0),
    "Tsit5": Method(_runge_kutta(_TSIT5), 5, 6, 0),
    "DOP853": Method(_dop853, 8, 15, 0, 7),
    "Rodas4": Method(_rosenbrock, 4, 6, 1),
}
