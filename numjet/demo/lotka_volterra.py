"""A fit of the Lotka-Volterra equations to the hare and lynx pelts of the Hudson's Bay Company, 1900 to 1920.

    d hare / dt = growth * hare - predation * hare * lynx
    d lynx / dt = conversion * hare * lynx - decline * lynx

The state is the logarithm of both populations, so that they stay positive; the residuals are taken on log scale, as the
errors of such a record are relative. The gradient goes through all Runge-Kutta steps of a `lax.scan`; three starting
points descend at once by `vmap`; and a hundred steps of Adam are one native function.
"""
from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax, tree
from numjet.demo import adam, bars

STEPS_PER_YEAR = 20
CALLS, UPDATES_PER_CALL, RATE = 16, 100, 0.02


class Model(NamedTuple):
    """Logarithms of the rates (per year; predation, conversion: per thousand pelts) and of the first populations."""

    growth: Any
    predation: Any
    conversion: Any
    decline: Any
    hare: Any
    lynx: Any


# Starting points: growth, predation, conversion, decline of three ecologies far from the answer, and the first pelts.
STARTS = np.log([
    [0.5, 0.01, 0.05, 0.5, 30.0, 4.0],
    [1.2, 0.05, 0.02, 0.5, 30.0, 4.0],
    [0.3, 0.03, 0.03, 1.2, 30.0, 4.0],
])


@dataclass(frozen=True)
class Record:
    """The pelts, in thousands: (years,) arrays."""

    year: np.ndarray
    hare: np.ndarray
    lynx: np.ndarray


@dataclass(frozen=True)
class Fit:
    """Results of the fit, for the report and the picture."""

    record: Record
    rates: dict[str, tuple[float, float]]
    losses: np.ndarray
    period: float
    years: np.ndarray
    hare: np.ndarray
    lynx: np.ndarray
    compile_seconds: float
    update_seconds: float
    updates: int
    run_seconds: float


def read_record() -> Record:
    """The table that comes with the package; its first lines name its source."""
    text = resources.files("numjet.demo").joinpath("hudson_bay.csv").read_text(encoding="utf8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    year, lynx, hare = np.array([[float(v) for v in row.values()] for row in rows], np.float32).T
    return Record(year, hare, lynx)


def velocity(rates: Model, state: Any) -> Any:
    """Time derivative of (log hare, log lynx)."""
    hare, lynx = jnp.exp(state[0]), jnp.exp(state[1])
    return jnp.array([rates.growth - rates.predation * lynx, rates.conversion * hare - rates.decline])


def trajectory(model: Model, years: int) -> Any:
    """Log populations after every Runge-Kutta step (fourth order): shape (years * STEPS_PER_YEAR + 1, 2)."""
    rates = tree.map(jnp.exp, model)
    h = 1.0 / STEPS_PER_YEAR

    def step(state: Any, _: None) -> tuple[Any, Any]:
        k1 = velocity(rates, state)
        k2 = velocity(rates, state + h / 2 * k1)
        k3 = velocity(rates, state + h / 2 * k2)
        k4 = velocity(rates, state + h * k3)
        new = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return new, new

    first = jnp.array([model.hare, model.lynx])
    _, path = lax.scan(step, first, None, length=years * STEPS_PER_YEAR)
    return jnp.concatenate([first[None], path])


def loss(model: Model, log_pelts: Any) -> Any:
    """Mean squared residual of log populations; log_pelts has shape (years, 2)."""
    path = trajectory(model, len(log_pelts) - 1)
    return jnp.mean((path[::STEPS_PER_YEAR] - log_pelts) ** 2)


@nj.jit
def descend(models: Model, state: adam.AdamState, log_pelts: Any) -> tuple[Model, adam.AdamState, Any]:
    """UPDATES_PER_CALL updates of several models at once (leading axis of every leaf), and the last losses."""
    slopes = nj.vmap(nj.value_and_grad(loss), in_axes=(0, None))

    def one(carry: tuple[Model, adam.AdamState], _: None) -> tuple[Any, Any]:
        values, grads = slopes(carry[0], log_pelts)
        return adam.update(carry[0], grads, carry[1], RATE), values

    (models, state), values = lax.scan(one, (models, state), None, length=UPDATES_PER_CALL)
    return models, state, values[-1]


def standard_errors(model: Model, log_pelts: Any) -> np.ndarray:
    """Standard errors of the logarithms, from the curvature of the loss at its minimum, as in least squares."""
    def flat(v: Any) -> Any:
        return loss(Model(*v), log_pelts)

    vector = jnp.stack(list(model))
    count = log_pelts.size
    curvature = np.asarray(nj.jit(nj.hessian(flat))(vector), np.float64) * count / 2
    variance = float(flat(vector)) * count / (count - len(model))
    return np.sqrt(np.diag(np.linalg.inv(curvature)) * variance)


def period_of(log_hare: np.ndarray) -> float:
    """Mean distance, in years, of the maxima of a curve sampled at every step; parabolas through three points."""
    left, mid, right = log_hare[:-2], log_hare[1:-1], log_hare[2:]
    top = np.flatnonzero((mid > left) & (mid >= right))
    shift = (left - right)[top] / (2 * (left - 2 * mid + right)[top])
    return float(np.mean(np.diff(top + shift)) / STEPS_PER_YEAR)


def fit(calls: int = CALLS) -> Fit:
    """Descends from the three starting points and describes the best model found."""
    record = read_record()
    log_pelts = jnp.log(jnp.stack([jnp.array(record.hare), jnp.array(record.lynx)], axis=1))
    models = Model(*jnp.array(STARTS.T, jnp.float32))
    state = nj.vmap(adam.start)(models)
    seconds = []
    bar = bars.bar(range(calls), desc="lotka-volterra", unit_scale=UPDATES_PER_CALL, unit="update")
    for _ in bar:
        began = time.perf_counter()
        models, state, values = nj.block_until_ready(descend(models, state, log_pelts))
        seconds.append(time.perf_counter() - began)
        bar.set_postfix_str("losses " + " ".join(f"{v:.4f}" for v in np.asarray(values)))
    losses = np.asarray(values)
    best = tree.map(lambda leaf: leaf[int(losses.argmin())], models)
    errors = standard_errors(best, log_pelts)
    rates = {name: (float(np.exp(v)), float(np.exp(v) * e))
             for name, v, e in zip(Model._fields[:4], best, errors, strict=False)}
    usual = float(np.median(seconds[1:] or seconds))
    path = np.asarray(trajectory(best, 100), np.float64)
    shown = (len(record.year) - 1) * STEPS_PER_YEAR + 1
    hare, lynx = np.exp(path[:shown].T)
    return Fit(record, rates, losses, period_of(path[:, 0]), record.year[0] + np.arange(shown) / STEPS_PER_YEAR, hare,
               lynx, compile_seconds=seconds[0] - usual, update_seconds=usual / UPDATES_PER_CALL,
               updates=calls * UPDATES_PER_CALL, run_seconds=sum(seconds[1:]) + usual)
