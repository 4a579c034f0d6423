"""Record tests: cases from the samples of records, and the checks of all slots."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.op import ZERO, Missing, Op, Samples, Undefined
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64
from numjet.foundation.util import replace_at
from numjet.lax.tangent import instantiate
from numjet.runtime import dispatch, eager
from numjet.runtime.device import CPU, Device
from numjet.testing.close import RTOL, assert_close
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.linearize import linearize_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to

STEP = 1e-5


@dataclass
class Case:
    """Operands and parameters for one application of an operation."""
    op: Op
    operands: list[np.ndarray]
    params: dict[str, Any]
    samples: Samples

    def __str__(self) -> str:
        shapes = ", ".join(ShapedArray(np.shape(x), x.dtype).str_short() for x in self.operands)
        return f"{self.op.name}({shapes}; {self.params})"


def cases(op: Op, limit: int = 24, seed: int = 0) -> Iterator[Case]:
    """The sampled cases of a record: shapes x params x dtypes, at most `limit`, spread evenly."""
    if isinstance(op.samples, Missing):
        return
    found = grid(op)
    rng = np.random.default_rng(seed)
    step = max(1, -(-len(found) // limit))
    for k in range(seed % step, len(found), step):
        shapes, params, dtype = found[k]
        yield Case(op, operands(op, op.samples, shapes, dtype, dict(params), rng), dict(params), op.samples)


def grid(op: Op) -> list[tuple[Any, dict[str, Any], Any]]:
    """All cases that a record's samples describe: shapes, parameters, dtype."""
    s = op.samples
    pairs = list(zip(s.shapes, s.params, strict=True)) if len(s.params) == len(s.shapes) > 1 else list(product(s.shapes,
            s.params))
    return [(shapes, params, dtype) for (shapes, params), dtype in product(pairs, s.dtypes)]


def made_operands(op: Op, case: int, rng: Any) -> list[np.ndarray]:
    """Operands of a case of the grid."""
    shapes, params, dtype = grid(op)[case]
    return operands(op, op.samples, shapes, dtype, dict(params), rng)


def operands(op: Op, s: Samples, shapes: Any, dtype: Any, params: dict[str, Any], rng: Any) -> list[np.ndarray]:
    """Random operands for one case."""
    if s.make is not None:
        return [np.asarray(x) for x in s.make(rng, shapes, dtype, params)]
    each = shapes if isinstance(shapes, list) else [shapes] * op.nargs
    names = dtype if isinstance(dtype, tuple) else (dtype,) * len(each)
    return [random_array(rng, tuple(n), dtypes.as_dtype(d), s.low, s.high) for n, d in zip(each, names, strict=True)]


def random_array(rng: Any, shape: tuple[int, ...], dtype: np.dtype, low: float, high: float) -> np.ndarray:
    """Uniform values between low and high; both parts of complex numbers, all words of keys."""
    kind = dtypes.kind(dtype)
    if kind == "V":
        return rng.integers(0, 2 ** 32, (*shape, dtype.itemsize // 4), dtype=np.uint32).view(dtype).reshape(shape)
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        lo, hi = max(int(low), int(info.min)), min(int(high), int(info.max))
        return rng.integers(lo, hi + 1, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    if kind == "c":
        x = x + 1j * rng.uniform(low, high, shape)
    return np.asarray(x).astype(dtype)


# ------------------------------------------------------------------------------------------------ checks

def outputs(op: Op, result: Any) -> list[Any]:
    return list(result) if op.multiple else [result]


def apply_eager(case: Case) -> list[np.ndarray]:
    """The reference result, by the eager slot. Also checks the abstract slot against it."""
    return [np.asarray(x._value) for x in outputs(case.op, eager.interpret(case.op, case.operands, case.params))]


def check_compiled(*checked: Case) -> None:
    """The CPU backend agrees with the eager slot, for cases of one record."""
    for case, g, w in results(checked, CPU):
        assert_close(g, w, ulps=case.samples.ulps, rtol=case.samples.rtol, sums=case.samples.rtol is not None,
                     note=f"cpu {case}")


def check_hlo(checked: Sequence[Case], device: Device) -> None:
    """The XLA backend agrees with the eager slot."""
    for case, g, w in results(checked, device):
        rtol = case.samples.rtol or RTOL.get(w.dtype.name)
        assert_close(g, w, ulps=case.samples.ulps, rtol=rtol, sums=case.samples.rtol is not None,
                     atol=1e-6 if dtypes.kind(w.dtype) in "fc" else 0, note=f"hlo on {device}: {case}")


def results(checked: Sequence[Case], device: Device) -> Iterator[tuple[Case, np.ndarray, np.ndarray]]:
    """Results of a backend and of the eager slot. All cases of a record are one program, which compiles in less time."""
    want = [(case, w) for case in checked for w in apply_eager(case)]
    single = [dispatch.one_equation(c.op, [aval_of(x) for x in c.operands], c.params).jaxpr for c in checked]
    invars, outvars, eqns = ([v for j in single for v in getattr(j, name)] for name in ("invars", "outvars", "eqns"))
    executable = dispatch.compile_closed(ClosedJaxpr(Jaxpr([], invars, outvars, eqns)), checked[0].op.name.replace("-", "_"),
                                         device=device)
    operands = [x for c in checked for x in c.operands]
    got = executable([dispatch.as_array(x, v.aval, device) for x, v in zip(operands, invars, strict=True)])
    for g, (case, w) in zip(got, want, strict=True):
        yield case, np.asarray(getattr(g, "_value", g)), w


def check_batch(case: Case) -> None:
    """The batch rule agrees with a loop, for every operand batched along every axis, alone and together; of none, too."""
    rng = np.random.default_rng(1)
    count = len(case.operands)
    subsets = [tuple(k == n for k in range(count)) for n in range(count)] + [(True,) * count]
    first = apply_eager(case)
    for flags in dict.fromkeys(subsets):
        _check_batch(case, flags, rng, first)
        _check_empty_batch(case, flags)


def _check_batch(case: Case, flags: Sequence[bool], rng: Any, first: list[np.ndarray]) -> None:
    size = 2
    dims = [int(rng.integers(0, x.ndim + 1)) if f else None for x, f in zip(case.operands, flags, strict=True)]
    stacked = [np.stack([x, _other(case, n, rng)], d) if d is not None else x
               for n, (x, d) in enumerate(zip(case.operands, dims, strict=True))]
    fun = lambda *xs: outputs(case.op, case.op.bind(*xs, **case.params))
    outs, out_dims = batch_flat(fun, size, stacked, dims)
    for k in range(size):
        element = [np.take(x, k, d) if d is not None else x for x, d in zip(stacked, dims, strict=True)]
        want = apply_eager(Case(case.op, element, case.params, case.samples)) if k else first
        for o, d, w in zip(outs, out_dims, want, strict=True):
            got = np.asarray(move_to(o, d, 0, size))[k]
            assert_close(got, w, ulps=case.samples.ulps, rtol=case.samples.rtol or RTOL.get(w.dtype.name),
                         sums=case.samples.rtol is not None, atol=1e-6 if dtypes.kind(w.dtype) in "fc" else 0,
                         note=f"batch {dims} of {case}")


def _check_empty_batch(case: Case, flags: Sequence[bool]) -> None:
    """A batch of no elements has results, as empty, of the elements' types."""
    fun = lambda *xs: outputs(case.op, case.op.bind(*xs, **case.params))
    dims = [0 if f else None for f in flags]
    empty = [np.zeros((0, *x.shape), x.dtype) if f else x for x, f in zip(case.operands, flags, strict=True)]
    outs, out_dims = batch_flat(fun, 0, empty, dims)
    got = [aval_of(move_to(o, d, 0, 0)) for o, d in zip(outs, out_dims, strict=True)]
    want = outputs(case.op, case.op.abstract(*(aval_of(x) for x in case.operands), **case.params))
    assert [(a.shape, a.dtype) for a in got] == [((0, *a.shape), a.dtype) for a in want], f"batch of none {dims} of {case}"


def _other(case: Case, n: int, rng: Any) -> np.ndarray:
    """Another value for an operand: integers (indices, shifts) shuffled, floats moved a little."""
    x = case.operands[n]
    if dtypes.kind(x.dtype) in "fc" and x.size:
        return (x * x.dtype.type(0.75)).astype(x.dtype)
    return rng.permutation(x.reshape(-1)).reshape(x.shape) if x.size else x


def differentiable(case: Case) -> list[int]:
    """Operands with respect to which derivatives are checked."""
    if case.op.jvp is ZERO or isinstance(case.op.jvp, Missing) or not case.samples.order:
        return []
    found = [n for n, x in enumerate(case.operands) if dtypes.kind(x.dtype) in "fc" and x.dtype.itemsize > 2]
    return [n for n in found if case.samples.wrt is None or n in case.samples.wrt]


def in_double(case: Case) -> Case:
    """The case with floats widened to double precision."""
    wider = {"f": np.float64, "c": np.complex128}
    wide = [x.astype(wider[dtypes.kind(x.dtype)]) if dtypes.kind(x.dtype) in wider else x for x in case.operands]
    return Case(case.op, wide, case.params, case.samples)


def check_derivatives(case: Case) -> None:
    """jvp agrees with central differences, and reverse mode with forward mode, up to the order in the samples."""
    wrt = differentiable(case)
    if not wrt:
        return
    with enable_x64():
        wide = in_double(case)
        fun = lambda *xs: [o for o in outputs(case.op, case.op.bind(*replace_at(wide.operands, wrt, xs), **case.params))
                           if aval_of(o).dtype in (np.float64, np.complex128)]
        check_function(fun, [wide.operands[n] for n in wrt], case.samples.order, str(case))


def check_function(fun: Any, xs: list[np.ndarray], order: int, note: str, seed: int = 0) -> None:
    """Derivatives of a function of flat float64 / complex128 arrays, in random directions."""
    rng = np.random.default_rng(seed)
    direction = [random_array(rng, x.shape, x.dtype, -1, 1) for x in xs]
    run = lambda vs: [np.asarray(o) for o in fun(*vs)]
    plus = run([x + STEP * t for x, t in zip(xs, direction, strict=True)])
    minus = run([x - STEP * t for x, t in zip(xs, direction, strict=True)])
    _, tangents = jvp_flat(fun, xs, direction)
    tangents = [np.asarray(instantiate(t)) for t in tangents]
    for p, m, t in zip(plus, minus, tangents, strict=True):
        with np.errstate(all="ignore"):
            assert_close(t, ((p - m) / (2 * STEP)).astype(t.dtype), rtol=2e-4, atol=2e-5 * (1 + _largest(p)),
                         note=f"jvp of {note}")
    check_transpose(fun, xs, direction, tangents, note, rng)
    if order > 1:
        derivative = lambda *vs: [instantiate(t) for t in jvp_flat(fun, vs, direction)[1]]
        check_function(derivative, xs, order - 1, f"derivative of {note}", seed + 1)


def _largest(x: np.ndarray) -> float:
    return float(np.nanmax(np.abs(x), initial=0.0, where=np.isfinite(x)))


def check_transpose(fun: Any, xs: list[np.ndarray], direction: list[np.ndarray], tangents: list[np.ndarray], note: str,
                    rng: Any) -> None:
    """<ct, J t> == <J^T ct, t>, by linearizing and transposing."""
    _, linear = linearize_flat(fun, xs)
    cts = [random_array(rng, np.shape(t), t.dtype, -1, 1) for t in tangents]
    chosen = [c for c, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
    grads = backward_pass(linear.jaxpr, linear.consts, [Undefined(v.aval) for v in linear.jaxpr.invars], chosen)
    # The real part: between real and complex numbers, transposition is over the reals.
    left = sum(np.sum(c * t) for c, t in zip(cts, tangents, strict=True)).real
    right = sum(np.sum(np.asarray(instantiate(g)) * t) for g, t in zip(grads, direction, strict=True)).real
    scale = sum(np.sum(np.abs(c * t)) + 1e-6 * np.sum(np.abs(c)) for c, t in zip(cts, tangents, strict=True))
    if np.isfinite(left):
        assert abs(left - right) <= 1e-8 * scale, f"transpose of {note}: <ct, Jt> = {left}, <J^T ct, t> = {right}"


