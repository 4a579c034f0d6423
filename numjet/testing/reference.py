"""Reference interpreter: programs run equation by equation by the records' eager slots, with Monte Carlo arithmetic for
the effect of rounding.

Two ways to round an equation differ by some units in the last place. The effect on results depends on the program: sums
cancel, comparisons flip, loops amplify. So a program is also run with random changes of that size in the result of every
rounding equation (and in the operands of sums, whose terms may be added in any order). Results that vary then are not
determined by the arithmetic that numjet promises; all others must be right.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.control.branches.cond_op import cond_p
from numjet.control.loops.checkpoint_scan import checkpoint_scan_p
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_op import while_p
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT, NORMWISE, SUMS_PRODUCTS
from numjet.foundation import dtypes
from numjet.lax.contraction.dot import dot_general_p
from numjet.lax.fourier import fft_p
from numjet.lax.reduction.reduce import reduce_prod_p, reduce_sum_p
from numjet.runtime import eager


class Reference:
    """An interpreter of programs. noise: ulps of random changes to rounded results, 0 for none."""

    def __init__(self, noise: float = 0.0, seed: int = 0):
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def closed(self, closed: ClosedJaxpr | Jaxpr, args: Sequence[Any]) -> list[np.ndarray]:
        """The results of a program."""
        jaxpr, consts = (closed.jaxpr, closed.consts) if isinstance(closed, ClosedJaxpr) else (closed, [])
        env: dict[Any, Any] = dict(zip(jaxpr.constvars, map(_numpy, consts), strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        read = lambda a: np.asarray(a.val, a.aval.dtype) if isinstance(a, Literal) else env[a]
        for eqn in jaxpr.eqns:
            env.update(zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars]), strict=True))
        return [read(a) for a in jaxpr.outvars]

    def equation(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        op, params = eqn.primitive, eqn.params
        rule = _CONTROL.get(op)
        if rule is not None:
            return rule(self, args, **params)
        inner = params.get("jaxpr", params.get("call_jaxpr")) if op.programs else None
        if isinstance(inner, (ClosedJaxpr, Jaxpr)) and len(inner.in_avals) == len(args):
            return self.closed(inner, args)
        if not self.noise or EXACT <= op.traits:
            return self.applied(op, args, params)
        if op.elementwise:
            return [self.changed(o, self._ulps(op)) for o in self.applied(op, args, params)]
        args = [self.changed(a, self._terms(a, eqn)) for a in args]
        scale = 2.0 ** -self.rng.choice((0, 8)) if SUMS_PRODUCTS <= op.traits else 1.0
        outs = self.applied(op, self._reordered(op, args, params, scale), params)
        if op is fft_p and any(np.abs(_times(a, 2.0**-40)).max(initial=0) > 1 or not np.isfinite(a).all() for a in args):
            return [np.full_like(o, np.nan) for o in outs]  # overflow of intermediate values depends on the order
        if NORMWISE <= op.traits and self.rng.random() < 0.5:  # how far NaN spreads depends on the method
            outs = [self._spread(args, o) for o in outs]
        outs = [self.changed(_times(o, 1 / scale), self._ulps(op)) for o in outs]
        if (SUMS_PRODUCTS <= op.traits or op is reduce_prod_p) and self.rng.random() < 0.5:
            outs = [self._overflowed(op, args, params, o) for o in outs]
        return [self._cancelled(o) for o in outs] if NORMWISE <= op.traits else outs

    def _spread(self, args: Sequence[Any], out: Any) -> Any:
        """A result with NaN everywhere if an operand has a number that is not finite."""
        floats = dtypes.kind(out.dtype) in "fc"
        return np.full_like(out, np.nan) if floats and not all(np.isfinite(a).all() for a in args) else out

    def _overflowed(self, op: Op, args: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
        """A result with NaN where intermediate values may overflow, which those of integers never do."""
        if dtypes.kind(out.dtype) not in "fc":
            return out
        return np.where(self._may_overflow(op, args, params, out), np.asarray(np.nan, out.dtype), out)

    def _cancelled(self, x: Any) -> Any:
        """x with rounding-sized elements, compared with the largest one, made zero or of either sign."""
        if dtypes.kind(x.dtype) not in "fc" or not x.size:
            return x
        size = np.abs(x.astype(np.complex128 if dtypes.kind(x.dtype) == "c" else np.float64))
        with np.errstate(all="ignore"):
            noise = size <= 16 * float(dtypes.finfo(x.dtype).eps) * np.max(size, initial=0.0, where=np.isfinite(size))
        return np.where(noise, x * self.rng.choice((-1, 0, 0, 1), x.shape).astype(x.dtype), x).astype(x.dtype)

    def applied(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """The results of an operation by its eager slot."""
        result = eager.interpret(op, args, params)
        return [_numpy(r) for r in (result if op.multiple else [result])]

    def _reordered(self, op: Op, args: list[Any], params: dict[str, Any], scale: float) -> list[Any]:
        """The terms of a sum in another order, and products scaled: overflow of intermediate sums depends on it, and on
        whether products are rounded."""
        if op in (reduce_sum_p, reduce_prod_p):
            pairs = [(args[0], params["axes"])]
        elif op is dot_general_p:
            pairs = list(zip(args, params["dimension_numbers"][0], strict=True))
        else:
            return [_times(args[0], scale), *args[1:]] if scale != 1.0 else args
        orders = [self.rng.permutation(pairs[0][0].shape[a]) for a in pairs[0][1]]
        out = []
        for x, axes in pairs:
            for a, order in zip(axes, orders, strict=True):
                x = np.take(x, order, a)
            out.append(x)
        return [_times(out[0], scale), *out[1:]]

    def _may_overflow(self, op: Op, args: Sequence[Any], params: dict[str, Any], out: Any) -> Any:
        """Results of which some partial sums or products overflow: whether they meet an infinity or a zero depends on the
        order."""
        sizes = [np.where(np.isfinite(a), np.abs(a), 0).astype(np.float64) for a in args]
        with np.errstate(all="ignore"):
            if op is reduce_prod_p:
                exponent = np.sum(np.log2(np.maximum(sizes[0], 1)), tuple(params["axes"]))
            else:
                tops = [float(np.max(a, initial=0)) or 1.0 for a in sizes]
                scaled = [(a / top).astype(x.dtype) for a, top, x in zip(sizes, tops, args, strict=True)]
                (bound,) = self.applied(op, scaled, params)
                exponent = np.log2(np.abs(bound).astype(np.float64)) + sum(np.log2(tops))
        return exponent >= np.log2(float(dtypes.finfo(out.dtype).max)) - 1

    def _ulps(self, op: Op) -> float:
        return 1.0 if isinstance(op.samples, Missing) else max(1.0, min(float(op.samples.ulps), 16.0))

    def _terms(self, x: Any, eqn: JaxprEqn) -> float:
        """The noise factor of sums: more for long ones, whose rounding errors add up."""
        out = max([1, *(v.aval.size for v in eqn.outvars)]) if eqn.outvars else 1
        return 1.0 + 0.5 * float(np.sqrt(max(1.0, np.size(x) / max(out, 1), max(np.shape(x), default=1))))

    def changed(self, x: Any, ulps: float) -> Any:
        """x with every element changed at random by up to the given ulps."""
        kind = dtypes.kind(x.dtype)
        if kind not in "fc" or not x.size:
            return x
        eps = float(dtypes.finfo(x.dtype).eps)
        with np.errstate(all="ignore"):
            wide = x.astype(np.complex128 if kind == "c" else np.float64)
            change = self.rng.uniform(-1, 1, x.shape)
            if kind == "c":
                change = change + 1j * self.rng.uniform(-1, 1, x.shape)
                wide = wide + np.where(np.isfinite(wide), np.abs(wide) * change * (eps * ulps * self.noise), 0)
            else:
                wide = np.where(np.isfinite(wide), wide * (1 + change * (eps * ulps * self.noise)), wide)
            out = np.asarray(wide).astype(x.dtype)
            out = np.where(np.isfinite(out), out, x)  # the largest numbers must not become infinite
            return np.where(np.isnan(out) & (change.real > 0), -out, out).astype(x.dtype)  # no arithmetic promises NaN's sign

    # -- control flow
    def scan(self, args: list[Any], *, reverse: bool, length: int, num_consts: int, num_carry: int, jaxpr: ClosedJaxpr,
             **_: Any) -> list[Any]:
        consts, carry, xs = args[:num_consts], args[num_consts : num_consts + num_carry], args[num_consts + num_carry :]
        ys: list[list[Any]] = []
        for k in reversed(range(length)) if reverse else range(length):
            outs = self.closed(jaxpr, [*consts, *carry, *(x[k] for x in xs)])
            carry = outs[:num_carry]
            ys.append(outs[num_carry:])
        if reverse:
            ys.reverse()
        stacked = []
        for n, aval in enumerate(jaxpr.out_avals[num_carry:]):
            stacked.append(np.stack([y[n] for y in ys]) if ys else np.zeros((0, *aval.shape), aval.dtype))
        return [*carry, *stacked]

    def loop(self, args: list[Any], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int,
             **_: Any) -> list[Any]:
        start = cond_nconsts + body_nconsts
        tests, consts, carry = args[:cond_nconsts], args[cond_nconsts:start], args[start:]
        for _count in range(10_000):
            if not bool(self.closed(cond_jaxpr, [*tests, *carry])[0]):
                break
            carry = self.closed(body_jaxpr, [*consts, *carry])
        return carry

    def branch(self, args: list[Any], *, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
        return self.closed(branches[int(np.clip(int(args[0]), 0, len(branches) - 1))], args[1:])


_CONTROL: dict[Op, Any] = {scan_p: Reference.scan, checkpoint_scan_p: Reference.scan, while_p: Reference.loop,
                           cond_p: Reference.branch}


def _times(x: Any, scale: float) -> Any:
    """x by a power of two, where it has fractions."""
    if scale == 1.0 or dtypes.kind(x.dtype) not in "fc":
        return x
    with np.errstate(all="ignore"):
        return np.asarray(x * np.asarray(scale, x.dtype)).astype(x.dtype)


def _numpy(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else np.asarray(x._value if hasattr(x, "_value") else x)
