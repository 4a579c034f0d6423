"""Memory: caches are bounded in number and bytes, and what nobody needs any more goes."""

from __future__ import annotations

import ctypes
import gc
import threading
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core import aval as avals
from numjet.core.aval import ShapedArray
from numjet.cpu import jit, linker

# ------------------------------------------------------------------------------------------- avals

def test_avals_of_a_million_shapes_do_not_stay(scale):
    for n in range(50_000 * scale):
        ShapedArray((n, 7), np.dtype(np.float32))
        assert len(avals._table) <= 50_000
    avals.sweep()
    assert len(avals._table) < 8192


def test_slices_of_many_lengths_leave_no_avals():
    x = jnp.arange(3000)
    for n in range(3000):
        x[:n]
    del x
    nj.clear_caches()
    gc.collect()
    assert len(avals._table) < 1500


def test_an_aval_that_somebody_holds_stays_the_same_object():
    held = [ShapedArray((n, 3), np.dtype(np.int32)) for n in range(1000)]
    array = jnp.zeros((5, 4, 3, 2))
    number = id(array.aval)
    avals.sweep()
    assert all(a is ShapedArray((n, 3), np.dtype(np.int32)) for n, a in enumerate(held))
    assert number == id(ShapedArray((5, 4, 3, 2), np.dtype(np.float32)))
    assert (array + array).aval is array.aval


def test_avals_are_interned_while_other_threads_sweep(scale):
    stop, wrong = threading.Event(), []

    def sweeping() -> None:
        while not stop.is_set():
            avals.sweep()

    def interning(seed: int) -> None:
        for n in range(20_000 * scale):
            shape = ((n * seed) % 37, 11)
            one = ShapedArray(shape, np.dtype(np.float32))
            other = ShapedArray(shape, np.dtype(np.float32))
            if one is not other:
                wrong.append(shape)

    sweeper = threading.Thread(target=sweeping)
    threads = [threading.Thread(target=interning, args=(seed,)) for seed in (1, 3, 5)]
    for thread in (sweeper, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    sweeper.join()
    assert not wrong


def test_only_dictionaries_are_swept():
    with pytest.raises(TypeError, match="expected a dict, got 3"):
        nj._native.drop_unshared(3)
    own, shared = {"a": object()}, {"a": (kept := object())}
    assert nj._native.drop_unshared(own) == 1 and own == {}
    assert nj._native.drop_unshared(shared) == 0 and shared == {"a": kept}


# ------------------------------------------------------------------------------------------- machine code

TEXT = "define i64 @f(ptr %a, ptr %b, ptr %c, ptr %d) {\n  ret i64 7\n}\n"


@pytest.fixture
def generations(monkeypatch) -> list[Any]:
    """Those of a linker of its own."""
    made: list[Any] = []

    class Watched(linker._Generation):
        def __init__(self, machine: Any):
            super().__init__(machine)
            made.append(self)

    monkeypatch.setattr(linker, "_Generation", Watched)
    monkeypatch.setattr(jit, "_LINKER", linker.Linker(jit._LINKER._machine))
    return made


def test_what_llvm_keeps_of_dead_programs_goes_with_their_generation(generations):
    code = jit.compile_object(TEXT)
    for _ in range(3 * linker.LIBRARIES + 1):
        jit.load_object(code, {}, "f")
    assert [len(g.linker) for g in generations] == [0, 0, 0, 1]
    assert not any(g.alive for g in generations)


def test_a_program_that_lives_keeps_its_own_generation_only(generations):
    code = jit.compile_object(TEXT)
    loaded = [jit.load_object(code, {}, "f") for _ in range(3 * linker.LIBRARIES)]
    kept = loaded[linker.LIBRARIES + 5]
    loaded.clear()
    jit.load_object(code, {}, "f")
    assert [len(g.linker) for g in generations] == [0, 1, 0, 1]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)(kept.address)(None, None, None, None) == 7
    del kept
    assert [len(g.linker) for g in generations] == [0, 0, 0, 1]


def test_programs_that_die_in_cycles_end_before_their_linker(generations):
    code = jit.compile_object(TEXT)
    for _ in range(2 * linker.LIBRARIES):
        cycle: list[Any] = [jit.load_object(code, {}, "f")]
        cycle.append(cycle)
    del cycle
    gc.collect()
    jit.load_object(code, {}, "f")
    assert [len(g.linker) for g in generations] == [0, 0, 1]


def test_threads_that_compile_and_forget(generations, scale):
    code, wrong = jit.compile_object(TEXT), []

    def work() -> None:
        held: list[Any] = []
        for k in range(200 * scale):
            held.append(jit.load_object(code, {}, "f"))
            if k % 7 == 0:
                held.clear()
        wrong.extend(h for h in held if not h.address)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads
    gc.collect()
    jit.load_object(code, {}, "f")
    assert not wrong and sum(len(g.linker) for g in generations) <= 2 and len(generations) >= 800 * scale // linker.LIBRARIES
