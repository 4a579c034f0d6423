"""The lowering context: its protocol, its lifetime, and transactions of speculative lowering."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.core import emit
from numjet.cpu.lowering import lower
from numjet.cpu.lowering.arrays.values import Deferred, reachable
from numjet.cpu.lowering.batch_vectorization import BatchVectorization
from numjet.cpu.lowering.context import LoweringContext
from numjet.cpu.remarks import Recorder
from numjet.transforms.simplify import simplify


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def program(fun, *args):
    return simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0])


def test_the_context_has_all_methods_of_the_protocol() -> None:
    methods = {n for p in (emit.ScalarBuilder, emit.LoopBuilder) for n, f in vars(p).items() if callable(f) and n[0] != "_"}
    assert len(methods) > 40
    context = LoweringContext("f")
    assert not [name for name in methods if not callable(getattr(context, name, None))]


@pytest.mark.parametrize("remarks", [False, True])
def test_a_context_is_freed_without_the_garbage_collector(monkeypatch, remarks: bool) -> None:
    made: list[Any] = []

    class Watched(LoweringContext):
        def __init__(self, *args: Any):
            super().__init__(*args)
            made.append(weakref.ref(self.ir))
    monkeypatch.setattr(lower, "LoweringContext", Watched)

    def fun(s, x):
        c, ys = lax.scan(lambda c, r: (jnp.tanh(c + r), c.sum(-1)), s, x)
        return lax.cond(c[0, 0] > 0, lambda: c * 2, lambda: jnp.roll(c, 1)), ys
    closed = program(nj.grad(lambda s, x: sum(jnp.sum(v) for v in fun(s, x))), values(8, 3), values(5, 8, 3))
    gc.disable()
    try:
        lower.lower(closed, "f", recorder=Recorder() if remarks else None)
        assert [ref() for ref in made] == [None]
    finally:
        gc.enable()


def state_of(lanes: BatchVectorization, arrays) -> dict[str, Any]:
    """All mutable state of lowering: by part, and of the arrays that a loop reads."""
    found: dict[str, Any] = {}
    for part in (*lanes.parts, lanes.ir, lanes.ir.memory, lanes.walk, lanes.liveness):
        for name, value in vars(part).items():
            found[f"{type(part).__name__}.{name}"] = value.copy() if isinstance(value, (list, dict, set)) else value
    function = lanes.ir.function
    for name in ("inputs", "outputs", "temps", "consts", "errors"):
        found[name] = list(getattr(function, name))
    found["blocks"] = [list(block) for block in lanes.ir.blocks]
    found["arrays"] = [(a, a.content) for a in reachable(arrays)]
    found["elements"] = [dict(c.memo) for _, c in found["arrays"] if isinstance(c, Deferred)]
    if lanes.ir.recorder is not None:
        found["remarks"] = lanes.ir.recorder.snapshot()
    return found


@pytest.mark.parametrize("body", [
    lambda v, t: (jnp.roll(v, 1) + t, v),                                # reads its neighbour
    lambda v, t: (v * 2, jnp.full(40, t)[jnp.argmax(v)] + v),            # reads all places
    lambda v, t: (jnp.sort(jnp.stack([v] * 99, 1), 1)[:, 0], v + t)])    # calls a library
@pytest.mark.parametrize("remarks", [False, True])
def test_a_failed_attempt_leaves_no_trace(monkeypatch, body, remarks: bool) -> None:
    attempts: list[bool] = []
    attempt = BatchVectorization._attempt

    def watched(self, places, loop, reads, results):
        before = state_of(self, reads)
        storages = attempt(self, places, loop, reads, results)
        attempts.append(storages is None)
        if storages is None:
            after = state_of(self, reads)
            assert after.keys() == before.keys()
            assert not [name for name in before if after[name] != before[name]]
        return storages
    monkeypatch.setattr(BatchVectorization, "_attempt", watched)
    monkeypatch.setattr("numjet.cpu.lowering.batch_vectorization._may_run_in_lanes", lambda eqn: True)
    outer = lambda v, xs: lax.scan(lambda v, x: lax.scan(body, v * x, jnp.arange(3.0)), v, xs)   # 16 elements are registers
    lower.lower(program(outer, values(16), values(4)), "f", recorder=Recorder() if remarks else None)
    assert any(attempts)
