"""What the compiler knows of a machine, and which decisions follow it."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from numjet import _native
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.native_code import jit
from numjet.cpu.passes import array_contraction, fusion, gemm_epilogues, parallelize
from numjet.cpu.passes.manager import Context, Pass, run_passes
from numjet.cpu.target import TYPICAL, Caches, Target, from_features

KIB, MIB = 1 << 10, 1 << 20
SERVER = from_features("x86-64-v4", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512cd", "x86_64")


def machine(root: Path, siblings: str, caches: Sequence[str]) -> Caches:
    """The caches that a folder as /sys tells; each: level, type, size, ways, processors that share it."""
    cpu = root / "sys/devices/system/cpu/cpu0"
    (cpu / "topology").mkdir(parents=True)
    (cpu / "topology/thread_siblings_list").write_text(f"{siblings}\n")
    for k, words in enumerate(caches):
        folder = cpu / f"cache/index{k}"
        folder.mkdir(parents=True)
        names = ("level", "type", "size", "ways_of_associativity", "shared_cpu_list", "coherency_line_size")
        for name, word in zip(names, [*words.split(), "64"], strict=True):
            (folder / name).write_text(f"{word}\n")
    return Caches(*_native.caches(str(root)))


@pytest.mark.parametrize(("siblings", "caches", "wanted"), [
    ("0,32", ["1 Data 48K 12 0,32", "1 Instruction 32K 8 0,32", "2 Unified 2048K 16 0,32", "3 Unified 61440K 15 0-63"],
     Caches(l1=48 * KIB, l2=2 * MIB, l2_way=128 * KIB, last_level=60 * MIB)),
    ("0", ["1 Data 64K 4 0", "1 Instruction 64K 4 0", "2 Unified 4M 16 0-3"],   # four cores share what is the last level
     Caches(l1=64 * KIB, l2=MIB, l2_way=256 * KIB, last_level=4 * MIB)),
    ("0", ["1 Data nonsense 0 0", "2 Unified 0K 0 0", "3 Unified -4K 1 0"], TYPICAL),
    ("", [], TYPICAL)])
def test_caches_are_those_that_the_system_lists(tmp_path, siblings, caches, wanted):
    assert repr(machine(tmp_path, siblings, caches)) == repr(wanted)


def test_this_machine():
    caches = jit.host().caches
    assert repr(caches) == repr(Caches(*_native.caches("")))
    assert caches.l1 <= caches.l2 <= caches.last_level and caches.l2 % caches.l2_way == 0


# --- decisions

def made(one: Pass, text: str, target: Target) -> str:
    function = parse(text)
    run_passes(function, [one], Context(target, facts=frozenset(one.requires)))
    return show(function)


def with_caches(**sizes: int) -> Target:
    return SERVER.replace(caches=TYPICAL.replace(**sizes))


ROWS = """\
function f(x: float32[20000]) -> (y: float32[20000]) scratch 0 {
  temp t: float32[20000]
  for i in 0 .. 40 serial fused () {
    for j in 0 .. 500 vector () {
      store t[add(mul(i, 500), j)] = neg(x[add(mul(i, 500), j)])
    } -> ()
    for k in 0 .. 500 vector () {
      store y[add(mul(i, 500), k)] = add(t[add(mul(i, 500), k)], t[mul(i, 500)])
    } -> ()
  } -> ()
}
"""
PRODUCT = """\
function f(x: float32[25600], w: float32[12800]) -> (y: float32[80000]) scratch 0 {
  temp t: float32[80000]
  call nj_gemm(11, 1, 400, 200, 64, &x[0], 0, 64, 1, &w[0], 0, 200, 1, &t[0], 0) reads (x, w) writes (t)
  for i in 0 .. 80000 vector () {
    store y[i] = neg(t[i])
  } -> ()
}
"""
PAIR = """\
function f(x: float32[20000]) -> (y: float32[20000], z: float32[20000]) scratch 0 {
  for i in 0 .. 20000 vector () {
    store y[i] = neg(x[i])
  } -> ()
  for j in 0 .. 20000 vector () {
    store z[j] = exp(y[j])
  } -> ()
}
"""


def test_a_temporary_that_the_first_level_holds_stays_whole():
    assert "temp t: float32[512]" in made(array_contraction.ROWS, ROWS, SERVER)
    assert "temp t: float32[20000]" in made(array_contraction.ROWS, ROWS, with_caches(l1=48 * KIB))


def test_a_product_is_stored_unless_the_last_level_holds_its_right_operand():
    assert "temp t" not in made(gemm_epilogues.PASS, PRODUCT, SERVER)
    assert "temp t" in made(gemm_epilogues.PASS, PRODUCT, with_caches(last_level=128 * KIB))


def test_loops_are_shared_where_an_operation_takes_long():
    wide, slow = made(parallelize.PASS, PAIR, SERVER), made(parallelize.PASS, PAIR, SERVER.replace(operation_ns=5.0))
    narrow = made(parallelize.PASS, PAIR, SERVER.replace(vector_bytes=16, operation_ns=5.0))
    assert "parallel" not in wide
    assert "0 .. 20000" not in slow and slow != narrow   # half the lanes, more chunks


def test_loops_are_joined_where_memory_is_slow():
    assert "fused" in made(fusion.PASS, PAIR, SERVER)
    assert "fused" not in made(fusion.PASS, PAIR, SERVER.replace(byte_ns=0.002))


@pytest.mark.parametrize("sizes", [{"l1": 16 * KIB, "l2": 256 * KIB, "last_level": 2 * MIB}, {"l2": 16 * MIB}])
def test_caches_do_not_decide_in_which_order_numbers_are_added(sizes):
    rows = ROWS.replace("40", "8").replace("500", "2500").replace(" fused", "")
    for text in (rows, PAIR):
        for one in (fusion.PASS, parallelize.PASS):
            assert made(one, text, with_caches(**sizes)) == made(one, text, SERVER)
