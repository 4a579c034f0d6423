"""Initial value problems of ordinary differential equations: solve_ivp."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.api.grad import jvp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.core.trace import Tracer
from numjet.foundation import dtypes, tree
from numjet.lax import stop_gradient
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.integrate import adjoint as adjoints
from numjet.scipy.integrate.step_control import error_ratio, first_size, next_size
from numjet.scipy.integrate.steps import METHODS, Field, Method
from numjet.tree_util import register_pytree_node_class

_OPTIONS = {"rtol": 1e-3, "atol": 1e-6, "first_step": None, "max_step": np.inf, "max_steps": 4096, "max_events": 64}
_BISECTIONS = 60


class OdeResult(NamedTuple):
    """The result of solve_ivp: a pytree.

    t, y: times and solution [n, len(t)]. sol: an OdeSolution if dense_output. t_events, y_events: for each event its times and
    the solution [len(times), n]. nfev, njev, nlu: evaluations of the field, of its Jacobian, and factorizations. status: 0 when
    the end was reached, 1 when an event ended the integration, -1 when a step became too small or max_steps was reached.
    success: whether status >= 0.

    >>> result = solve_ivp(lambda t, y: -y, (0.0, 1.0), jnp.ones(2))
    >>> isinstance(result, OdeResult), bool(result.success), result.y.shape[0]
    (True, True, 2)
    """

    t: Any
    y: Any
    sol: Any
    t_events: Any
    y_events: Any
    nfev: Any
    njev: Any
    nlu: Any
    status: Any
    success: Any


@register_pytree_node_class
class OdeSolution:
    """The solution between t_min and t_max, by the polynomials of the steps; beyond, by those of the outer ones. A pytree.

    Calling it with a time gives the solution [n], with a vector of times [n, len(t)].

    >>> solution = solve_ivp(lambda t, y: -y, (0.0, 1.0), jnp.ones(1), dense_output=True).sol
    >>> isinstance(solution, OdeSolution), solution(0.5).shape, solution(jnp.linspace(0, 1, 4)).shape
    (True, (1,), (1, 4))
    """

    def __init__(self, starts: Any, ends: Any, lengths: Any, quartics: Any, sign: Any):
        self._parts = (starts, ends, lengths, quartics, sign)

    def __call__(self, t: Any) -> Any:
        starts, ends, lengths, quartics, sign = self._parts
        t = jnp.asarray(t, ends.dtype)
        times = jnp.atleast_1d(t) * sign
        last = jnp.maximum(jnp.sum(jnp.isfinite(ends)) - 1, 0)
        step = jnp.minimum(jnp.searchsorted(ends, times).astype(last.dtype), last)
        share = ((times - starts[step]) / lengths[step]).astype(quartics.dtype)
        out = _horner(jnp.moveaxis(quartics[step], 1, 0), share[:, None]).T
        return out[:, 0] if t.ndim == 0 else out

    def tree_flatten(self) -> tuple[Any, None]:
        """Its arrays."""
        return self._parts, None

    @classmethod
    def tree_unflatten(cls, _: None, parts: Any) -> OdeSolution:
        """A solution of these arrays."""
        return cls(*parts)


class _State(NamedTuple):
    """After a step, in time that increases: its end, start and length (events may end it before), its quartic, the next size;
    the values of the events, what they recorded, counters, and the status (2: under way)."""

    t: Any
    y: Any
    slope: Any
    dt: Any
    last_t: Any
    length: Any
    quartic: Any
    signals: Any
    t_events: Any
    y_events: Any
    event_counts: Any
    steps: Any
    status: Any


class _Problem(NamedTuple):
    """What does not change: the field(y, t), the end, the method, tolerances, and the events as functions of (y, t), with the
    directions in which they are crossed, and after how many crossings they end the integration."""

    field: Field
    end: Any
    method: Method
    options: dict[str, Any]
    events: Callable[[Any, Any], Any]
    directions: tuple[float, ...]
    terminal: tuple[int, ...]


def _horner(quartic: Any, x: Any) -> Any:
    return functools.reduce(lambda value, k: value * x + quartic[k], range(1, quartic.shape[0]), quartic[0])


# -------------------------------------------------------------------------------------------- events

def _crossing(p: _Problem, start: Any, dt: Any, quartic: Any, i: int) -> Any:
    """The share of a step at which event i is zero: by bisection, then two of Newton's steps, which carry derivatives."""
    at = lambda x: p.events(_horner(quartic, x.astype(quartic.dtype)), start + x * dt)[i]
    zero = jnp.zeros_like(dt)
    sign = jnp.sign(at(zero))

    def halve(_: Any, bracket: Any) -> Any:
        low, high = bracket
        middle = 0.5 * (low + high)
        before = jnp.sign(at(middle)) == sign
        return jnp.where(before, middle, low), jnp.where(before, high, middle)
    _, found = fori_loop(0, _BISECTIONS, halve, (zero, zero + 1))
    x = stop_gradient(found)
    for _ in range(2):
        value, slope = jvp(at, (x,), (jnp.ones_like(x),))
        flat = slope == 0
        step = jnp.where(flat, 0, value / jnp.where(flat, 1, slope))
        x = jnp.where(abs(step) < 1e-3, x - step, x)
    return x


def _with_events(p: _Problem, s: _State) -> _State:
    """The step's crossings recorded; an event that ends the integration cuts the step off."""
    if not p.terminal:
        return s
    signals, dt = p.events(s.y, s.t), s.length
    for i, direction in enumerate(p.directions):
        rising = (s.signals[i] < 0) & (signals[i] >= 0)
        falling = (s.signals[i] > 0) & (signals[i] <= 0)
        crossed = rising if direction > 0 else falling if direction < 0 else rising | falling
        share = _crossing(p, s.last_t, dt, s.quartic, i)
        time, place = s.last_t + share * dt, _horner(s.quartic, share.astype(s.y.dtype))
        at = jnp.minimum(s.event_counts[i], s.t_events.shape[1] - 1)
        put = lambda array, value, at=at, i=i, c=crossed: array.at[i, at].set(jnp.where(c, value, array[i, at]))
        counts = s.event_counts.at[i].add(crossed)
        ends = crossed & (p.terminal[i] > 0) & (counts[i] >= p.terminal[i])
        s = s._replace(t_events=put(s.t_events, time), y_events=put(s.y_events, place), event_counts=counts,
                       status=jnp.where(ends, 1, s.status))
    return _cut_off(p, s._replace(signals=signals), dt)


def _cut_off(p: _Problem, s: _State, dt: Any) -> _State:
    """The state at the first of the events that ended the integration; later ones are forgotten."""
    newest = s.t_events[jnp.arange(len(p.terminal)), jnp.maximum(jnp.minimum(s.event_counts, s.t_events.shape[1]) - 1, 0)]
    final = jnp.asarray(p.terminal) > 0
    reached = final & (s.event_counts >= jnp.asarray(p.terminal)) & (s.event_counts > 0)
    first = jnp.min(jnp.where(reached, newest, jnp.inf))
    stop = jnp.where(s.status == 1, first, s.t)
    later = (s.t_events > stop) & jnp.isfinite(s.t_events)
    share = (stop - s.last_t) / dt
    y = jnp.where(s.status == 1, _horner(s.quartic, share.astype(s.y.dtype)), s.y)
    return s._replace(t=stop, y=y, t_events=jnp.where(later, jnp.nan, s.t_events),
                      y_events=jnp.where(later[..., None], jnp.nan, s.y_events),
                      event_counts=s.event_counts - jnp.sum(later, 1))


# -------------------------------------------------------------------------------------------- steps

def _start(p: _Problem, y0: Any, t0: Any) -> _State:
    slope = p.field(y0, t0)
    options = p.options
    given = options["first_step"]
    dt = (first_size(p.field, t0, y0, slope, options["rtol"], options["atol"], p.method.order) if given is None
          else jnp.asarray(given, t0.dtype))
    count = len(p.terminal)
    times = jnp.full((count, options["max_events"]), jnp.nan, t0.dtype)
    places = jnp.full((*times.shape, y0.size), jnp.nan, y0.dtype)
    quartic = jnp.zeros((p.method.degree + 1, y0.size), y0.dtype).at[-1].set(y0)
    return _State(t0, y0, slope, stop_gradient(dt), t0, jnp.zeros_like(t0), quartic, p.events(y0, t0), times, places,
                  jnp.zeros(count, int), 0, jnp.where(t0 < p.end, 2, 0))


def _step(p: _Problem, s: _State) -> _State:
    """A step of size s.dt at most, or one taken back with a smaller size. Sizes have no derivatives."""
    dt = jnp.minimum(jnp.minimum(s.dt, p.options["max_step"]), p.end - s.t).astype(s.t.dtype)
    last = s.dt >= p.end - s.t
    new = p.method.step(p.field, s.y, s.slope, s.t, dt)
    ratio = stop_gradient(error_ratio(new.error, s.y, new.y, p.options["rtol"], p.options["atol"]))
    ratio = jnp.where(jnp.isfinite(ratio), ratio, 1e6)
    size = stop_gradient(next_size(dt, ratio, p.method.order))
    t = jnp.where(last, p.end, s.t + dt)
    accepted = _with_events(p, s._replace(t=t, y=new.y, slope=new.slope, dt=size, last_t=s.t, length=t - s.t,
                                          quartic=new.quartic, steps=s.steps + 1))
    accepted = accepted._replace(status=jnp.where((accepted.status == 2) & (accepted.t >= p.end), 0, accepted.status))
    rejected = s._replace(dt=size, steps=s.steps + 1)
    out = tree.tree_map(lambda a, b: jnp.where(ratio <= 1, a, b), accepted, rejected)
    stuck = (out.t + out.dt == out.t) & (out.status == 2) | (out.steps >= p.options["max_steps"]) & (out.status == 2)
    return out._replace(status=jnp.where(stuck, -1, out.status))


def _to_times(p: _Problem, s: _State, times: Any) -> tuple[_State, Any]:
    """The solution at these times, NaN where they are not reached; goes on to the end."""
    def to_time(s: _State, t: Any) -> tuple[_State, Any]:
        s = while_loop(lambda s: (s.t < t) & (s.status == 2), functools.partial(_step, p), s)
        share = jnp.where(s.length == 0, 0, (t - s.last_t) / jnp.where(s.length == 0, 1, s.length))
        return s, jnp.where(t <= s.t, _horner(s.quartic, share.astype(s.y.dtype)), jnp.nan)
    s, ys = scan(to_time, s, times)
    return while_loop(lambda s: s.status == 2, functools.partial(_step, p), s), ys


class _Record(NamedTuple):
    """Steps: their starts, ends and lengths, quartics, the solution at the ends, and how many there are."""

    starts: Any
    ends: Any
    lengths: Any
    quartics: Any
    values: Any
    count: Any


def _all_steps(p: _Problem, s: _State) -> tuple[_State, _Record]:
    """Every step on the way to the end, in arrays of max_steps elements."""
    most = p.options["max_steps"]

    def step(carry: tuple[_State, _Record]) -> tuple[_State, _Record]:
        s, record = carry
        new = _step(p, s)
        moved = new.t > s.t
        put = lambda array, x: array.at[record.count].set(jnp.where(moved, x, array[record.count]))
        return new, _Record(put(record.starts, new.last_t), put(record.ends, new.t), put(record.lengths, new.length),
                            put(record.quartics, new.quartic), put(record.values, new.y),
                            jnp.where(moved, record.count + 1, record.count))
    empty = jnp.full(most, jnp.inf, s.t.dtype)
    quartics, values = jnp.zeros((most, *s.quartic.shape), s.y.dtype), jnp.zeros((most, s.y.size), s.y.dtype)
    none = _Record(empty, empty, jnp.ones_like(empty), quartics, values, 0)
    return while_loop(lambda c: c[0].status == 2, step, (s, none))


# -------------------------------------------------------------------------------------------- public

def solve_ivp(fun: Callable[..., Any], t_span: Sequence[Any], y0: Any, method: str = "RK45", t_eval: Any = None,
              dense_output: bool = False, events: Any = None, vectorized: bool = False, args: tuple[Any, ...] | None = None, *,
              adjoint: str = "direct", **options: Any) -> OdeResult:
    """The solution of dy/dt = fun(t, y, *args), y(t0) = y0, by steps of controlled size.

    Args:
      fun: the slopes of a vector y, as a vector.
      t_span: (t0, tf), in any order.
      y0: a vector of real or complex numbers.
      method: 'RK45' (Dormand, Prince 1980), 'RK23' (Bogacki, Shampine 1989), 'Tsit5' (Tsitouras 2011), 'DOP853'
        (order 8; Hairer, Norsett, Wanner 1993), or, for stiff equations, 'Rodas4' (Hairer, Wanner 1996; real y; the Jacobian
        by differentiation).
      t_eval: times of the solution, a vector in the order of t_span. Without it the result has the ends of all steps: max_steps
        + 1 of them in a program that is traced, NaN behind the last one.
      dense_output: make `sol`, an OdeSolution.
      events: a function event(t, y, *args), or a sequence of them, whose zeros are found. Attributes: `terminal`, True or the
        number of zeros after which the integration ends; `direction`, > 0 or < 0 for zeros where it rises or falls only.
      vectorized: no matter; fun is called with vectors.
      args: other arguments of fun and events, pytrees.
      adjoint: 'direct', the derivatives of the steps, forward and reverse, of any order; or 'backsolve', reverse mode by the
        adjoint equation, which keeps nothing of the steps (t_eval only, without events).
      options: rtol (1e-3), atol (1e-6), first_step, max_step (infinite), max_steps (4096), max_events (64), the most that are
        recorded of each event.

    Returns:
      OdeResult. In a program that is traced, t_events and y_events have max_events elements, NaN behind the last one. It works
      under jit and vmap. Derivatives are with respect to t_span, y0, t_eval, args and what fun closes over; sizes of steps
      count as constants.

    Raises:
      ValueError: an unknown method, adjoint or option, y0 that is no vector, slopes of another shape, times outside of t_span
        or out of order where they are known. TypeError: complex slopes of real y.

    >>> import numjet as nj
    >>> import numjet.numpy as jnp
    >>> end = lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), jnp.array([2.0]), t_eval=jnp.array([1.0]), rtol=1e-6).y[0, 0]
    >>> round(float(end(1.0)), 4), round(float(nj.grad(end)(1.0)), 4)
    (0.7358, -0.7358)
    """
    del vectorized
    if method not in METHODS:
        raise ValueError(f"solve_ivp: method {method!r} is not there; expected one of {sorted(METHODS)}")
    if adjoint not in ("direct", "backsolve"):
        raise ValueError(f"solve_ivp: adjoint must be 'direct' or 'backsolve', got {adjoint!r}")
    if unknown := options.keys() - _OPTIONS.keys():
        raise ValueError(f"solve_ivp: unknown options {sorted(unknown)}; expected some of {sorted(_OPTIONS)}")
    chosen = {**_OPTIONS, **options}
    t0, tf, y0, t_eval = _arguments(t_span, y0, t_eval, method)
    sign = jnp.where(tf >= t0, 1, -1).astype(t0.dtype)
    given = () if args is None else tuple(args)
    field = _field(fun, sign, given, y0)
    if adjoint == "backsolve":
        if t_eval is None or dense_output or events is not None:
            raise ValueError("solve_ivp: adjoint='backsolve' needs t_eval, and makes neither dense output nor events")
        return _by_backsolve(field, METHODS[method], chosen, y0, t0, t_eval, sign)
    listed = () if events is None else (events,) if callable(events) else tuple(events)
    signals = lambda y, s: (jnp.stack([jnp.asarray(e(sign * s, y, *given)).reshape(()) for e in listed]) if listed
                            else jnp.zeros(0))
    problem = _Problem(field, sign * tf, METHODS[method], chosen, signals,
                       tuple(float(getattr(e, "direction", 0)) for e in listed),
                       tuple(int(getattr(e, "terminal", None) or 0) for e in listed))
    return _result(problem, _start(problem, y0, sign * t0), t_eval, dense_output, sign)


def _arguments(t_span: Sequence[Any], y0: Any, t_eval: Any, method: str) -> tuple[Any, ...]:
    if len(t_span) != 2:
        raise ValueError(f"solve_ivp: t_span must be a pair of times, got {len(t_span)} values")
    times = promote_dtypes_inexact(*(array_arg("solve_ivp", t) for t in (*t_span, *(() if t_eval is None else (t_eval,)))))
    (y0,) = promote_dtypes_inexact(array_arg("solve_ivp", y0))
    if y0.ndim != 1:
        raise ValueError(f"solve_ivp: y0 must be a vector, got shape {y0.shape}")
    if y0.dtype in dtypes.COMPLEX and method == "Rodas4":
        raise ValueError("solve_ivp: method 'Rodas4' is for real y0; give real and imaginary parts")
    t0, tf, *more = (jnp.astype(t, t.dtype) for t in times)
    known = not any(isinstance(t, Tracer) for t in (t0, tf, *more))
    if more and more[0].ndim != 1:
        raise ValueError(f"solve_ivp: t_eval must be a vector, got shape {more[0].shape}")
    if more and more[0].size and known:
        order = np.asarray(more[0]) * (1 if tf >= t0 else -1)
        low, high = sorted([float(t0), float(tf)])
        if (np.diff(order) < 0).any() or np.min(more[0]) < low or np.max(more[0]) > high:
            raise ValueError("solve_ivp: t_eval must lie within t_span, in its order")
    return t0, tf, jnp.astype(y0, y0.dtype), more[0] if more else None


def _field(fun: Callable[..., Any], sign: Any, args: tuple[Any, ...], like: Any) -> Field:
    """The field(y, s) in time that increases, s = sign t."""
    def field(y: Any, s: Any) -> Any:
        slope = jnp.asarray(fun(sign * s, y, *args))
        if slope.shape != y.shape:
            raise ValueError(f"solve_ivp: fun must return the shape of y, {y.shape}, got {slope.shape}")
        if slope.dtype in dtypes.COMPLEX and y.dtype not in dtypes.COMPLEX:
            raise TypeError("solve_ivp: fun returned complex numbers for real y0; give a complex y0")
        return sign.astype(like.dtype) * slope.astype(like.dtype)
    return field


def _by_backsolve(field: Field, method: Method, options: dict[str, Any], y0: Any, t0: Any, t_eval: Any, sign: Any) -> OdeResult:
    def integrate(field: Field, y0: Any, times: Any) -> Any:
        nothing = lambda y, s: jnp.zeros(0)
        problem = _Problem(field, times[-1], method, options, nothing, (), ())
        _, ys = _to_times(problem, _start(problem, y0, times[0]), times[1:])
        return jnp.concatenate([y0[None], ys])
    times = sign * jnp.concatenate([t0[None], t_eval])
    ys = adjoints.solve("solve_ivp", field, integrate, y0, times, ())[1:]
    success = jnp.isfinite(ys).all()
    return OdeResult(t_eval, ys.T, None, None, None, None, None, None, jnp.where(success, 0, -1), success)


def _result(p: _Problem, start: _State, t_eval: Any, dense_output: bool, sign: Any) -> OdeResult:
    sol, t, y = None, t_eval, None
    if t_eval is not None:
        s, ys = _to_times(p, start, sign * t_eval)
        y = ys.T
    if dense_output or t_eval is None:
        s, record = _all_steps(p, start)
        if t_eval is None:
            ends = jnp.where(jnp.isfinite(record.ends), record.ends, jnp.nan)
            values = jnp.where(jnp.isfinite(record.ends)[:, None], record.values, jnp.nan)
            t = sign * jnp.concatenate([start.t[None], ends])
            y = jnp.concatenate([start.y[None], values]).T
            t, y = (t, y) if isinstance(record.count, Tracer) else (t[:int(record.count) + 1], y[:, :int(record.count) + 1])
        sol = OdeSolution(record.starts, record.ends, record.lengths, record.quartics, sign) if dense_output else None
    times, places = [sign * t for t in s.t_events], list(s.y_events)
    if not isinstance(s.event_counts, Tracer):
        cut = lambda rows: [row[:int(n)] for row, n in zip(rows, s.event_counts, strict=True)]
        times, places = cut(times), cut(places)
    t_events, y_events = (times, places) if p.terminal else (None, None)
    stages, jacobians = p.method.evaluations * s.steps, p.method.jacobians * s.steps
    calls = stages + 1 + int(p.options["first_step"] is None)
    return OdeResult(t, y, sol, t_events, y_events, calls, jacobians, jacobians, s.status, s.status >= 0)
