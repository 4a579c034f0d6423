"""Every pass as a function from text to text: programs that it changes, and programs that it must leave as they are."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.compiler import PASSES
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.passes import estimate
from numjet.cpu.passes.manager import FACTS, LOWERED, Context, Pass, PassError, run_passes
from numjet.cpu.target import LIMITED, from_features
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import verify

TARGET = from_features(*LIMITED["avx512"], "x86_64")  # whatever the CPU at hand, costs and cache sizes are these
PASS = {one.name: one for one in PASSES}

# (pass, head, body before, body after; None where nothing may change). The head declares buffers.
CHAIN = "x: float32[100000]) -> (y: float32[100000]", "a: float32[100000]", "b: float32[100000]"
PAIR = ("x: float32[20000]) -> (y: float32[20000], z: float32[20000]",)
ROWS = "x: float32[20000]) -> (y: float32[20000]", "t: float32[20000]"
FACTORS = "x: float64[4]) -> (y: float64[4]", "q: float64[4]", "r: float64[4]", "u: float64[4]"
PRODUCT = "x: float32[25600], w: float32[12800]) -> (y: float32[80000]", "t: float32[80000]"
FEW = "x: float32[16]) -> (y: float32[16]", "a: float32[16]", "b: float32[16]", "c: float32[16]", "d: float32[16]"


def loop(var: str, stop: int | str, store: str, mode: str = "vector", level: int = 1, start: int | str = 0) -> str:
    indent = "  " * level
    return f"{indent}for {var} in {start} .. {stop} {mode} () {{\n{indent}  store {store}\n{indent}}} -> ()\n"


NEGATED, READ_BACKWARDS = loop("i", 100000, "a[i] = neg(x[i])"), loop("k", 100000, "y[k] = b[sub(99999, k)]")
GEMM = "  call nj_gemm(11, 1, 400, 200, 64, &x[0], 0, 64, 1, &w[0], 0, 200, 1, &t[0], 0) reads (x, w) writes (t)\n"
CHAINED = "x: float32[25600], w: float32[16384], u: float32[1024]) -> (y: float32[1600]", "t: float32[102400]"
FIRST = "  call nj_gemm(11, 1, 400, 256, 64, &x[0], 0, 64, 1, &w[0], 0, 256, 1, &t[0], 0) reads (x, w) writes (t)\n"
SECOND = "  call nj_gemm(11, 1, 400, 4, 256, &t[0], 0, 256, 1, &u[0], 0, 4, 1, &y[0], 0) reads (t, u) writes (y)\n"
SUMMED = "x: float32[4800], z: float32[160000], u: float32[1200]) -> (y: float32[40000]", "t: float32[%s]"
MADE = "  call nj_gemm(11, 1, %s, 10000, 16, &x[%s], 4800, 16, 1, &z[0], 160000, 10000, 1, &t[0], 0) reads (x, z) writes (t)\n"
ADDED = "  call nj_gemm(11, 1, 4, 10000, %s, &u[%s], 1200, 1, 4, &t[0], %s, 10000, 1, &y[0], %s) reads (u, t) writes (y)\n"
CHAIN_SUM = ("x: float32[5000]) -> (y: float32[1]",)
SUM = """\
  for i in %s .. %s vector (%s: float32 = 0.0:float32) {
    $1 = x[i]
    next acc = add(acc, $1) combine add $1
  } -> (total)
  store y[0] = total
"""
ROW = """\
  for i in 0 .. 40 serial%s () {
    for j in 0 .. 500 vector () {
      $1 = mul(i, 500)
      store t[add(%s, j)] = neg(x[add($1, j)])
    } -> ()
    for k in 0 .. 500 vector () {
      store y[add($1, k)] = add(t[add(%s, k)], t[%s])
    } -> ()
  } -> ()
"""
PADDED = ("n: int32[1], x: float32[400]) -> (y: float32[4]",)
MASKED_SUM = """\
  fill y[0] = 0.0:float32 count 4
  for i in 0 .. 100%s serial () {
    for j in 0 .. 4 vector () {
      store y[j] = add(y[j], select(lt(int32(i), n[0]), x[add(mul(i, 4), j)], %s:float32))
    } -> ()
  } -> ()
"""
ROLLED = "x: float32[1024]) -> (y: float32[1024]",
IMAGE = "x: float32[100000]) -> (y: float32[100000]",
CHOSEN = "select(lt(i, 1), x[add(%s, 99000) if lt(i, 1)], x[add(%s, -1000) if not(lt(i, 1))])"
COPIES = "".join(f"  copy {to}[0] = {of}[0] count 16\n" for of, to in zip("xabcd", "abcdy", strict=True))
STARTS, STEPS = "  copy y[0] = x[0] count 20000\n  copy t[0] = x[0] count 20000\n", "  for step in 0 .. 40 serial () {\n"
PARALLEL_COPIES = f"  for i in 0 .. 2 parallel () {{\n{COPIES}  }} -> ()\n".replace("  copy", "    copy")

CASES = {
    "a kernel whose result nobody reads goes": (
        "dead_calls", FACTORS,
        "  call factor(&x[0], &q[0], &r[0]) reads (x) writes (q, r)\n"
        "  call expand(&q[0], &u[0]) reads (q) writes (u)\n  copy y[0] = r[0] count 4\n",
        "  call factor(&x[0], &q[0], &r[0]) reads (x) writes (q, r)\n  copy y[0] = r[0] count 4\n"),
    "with the loop that makes its operand": (
        "dead_calls", FACTORS, loop("i", 4, "q[i] = x[i]") +
        "  call factor(&q[0], &r[0]) reads (q) writes (r)\n  copy y[0] = x[0] count 4\n", "  copy y[0] = x[0] count 4\n"),
    "a kernel stays whose result an expression reads": (
        "dead_calls", FACTORS,
        "  call factor(&x[0], &q[0]) reads (x) writes (q)\n" + loop("i", 4, "y[i] = select(lt(q[i], 0.0:float64), x[i], x[0])"),
        None),
    "an array is stored over the one it is made of": (
        "in_place", CHAIN, NEGATED + loop("j", 100000, "b[j] = exp(a[j])") + READ_BACKWARDS,
        NEGATED + loop("j", 100000, "a[j] = exp(a[j])") + READ_BACKWARDS.replace("b[", "a[")),
    "the interior of a row runs without conditions": (
        "borders", ROLLED,
        loop("i", 1024, "y[i] = select(lt(i, 1), x[add(i, 1023) if lt(i, 1)], x[add(i, -1) if not(lt(i, 1))])"),
        loop("i1", 64, "y[i1] = select(lt(i1, 1), x[add(i1, 1023) if lt(i1, 1)], x[add(i1, -1) if not(lt(i1, 1))])") +
        loop("i2", 1024, "y[i2] = x[add(i2, -1)]", start=64)),
    "a comparison the other way round changes where it holds from": (
        "borders", ROLLED, loop("i", 1024, "y[i] = x[add(i, -3) if ge(add(i, -1), 2)]"),
        loop("i1", 64, "y[i1] = x[add(i1, -3) if ge(add(i1, -1), 2)]") + loop("i2", 1024, "y[i2] = x[add(i2, -3)]", start=64)),
    "a row that is cut in the middle stays": ("borders", ROLLED, loop("i", 1024, "y[i] = x[i if lt(i, 500)]"), None),
    "and a short one": (
        "borders", ("x: float32[200]) -> (y: float32[200]",), loop("i", 200, "y[i] = x[i if lt(i, 199)]"), None),
    "one load from the chosen row": (
        "borders", IMAGE,
        "  for i in 0 .. 100 serial () {\n    for j in 0 .. 1000 vector () {\n      $1 = add(mul(i, 1000), j)\n"
        f"      store y[$1] = {CHOSEN % ('$1', '$1')}\n    }} -> ()\n  }} -> ()\n",
        "  for i in 0 .. 100 serial () {\n    for j in 0 .. 1000 vector () {\n      $1 = add(mul(i, 1000), j)\n"
        "      store y[$1] = x[add(add($1, -1000), select(lt(i, 1), 100000, 0))]\n    } -> ()\n  } -> ()\n"),
    "but not if it reads other elements": (
        "in_place", CHAIN, NEGATED + loop("j", 100000, "b[j] = exp(a[sub(99999, j)])") + READ_BACKWARDS, None),
    "loops over one array are joined": (
        "fusion", PAIR, loop("i", 20000, "y[i] = neg(x[i])") + loop("j", 20000, "z[j] = exp(y[j])"),
        loop("i", 20000, "y[i] = neg(x[i])\n    store z[i] = exp(y[i])", "vector fused")),
    "but not if one needs what another iteration makes": (
        "fusion", PAIR, loop("i", 20000, "y[i] = neg(x[i])") + loop("j", 20000, "z[j] = exp(y[sub(19999, j)])"), None),
    "an element that only its iteration reads is a value": (
        "array_contraction", ROWS, loop("i", 20000, "t[i] = neg(x[i])\n    store y[i] = exp(t[i])", "vector fused"),
        "  for i in 0 .. 20000 vector fused () {\n    let kept1: float32 = neg(x[i])\n    store y[i] = exp(kept1)\n"
        "  } -> ()\n"),
    "only in loops that others were joined with": (
        "array_contraction", ROWS, loop("i", 20000, "t[i] = neg(x[i])\n    store y[i] = exp(t[i])"), None),
    "and not if it is read after the loop": (
        "array_contraction", ROWS, loop("i", 20000, "t[i] = neg(x[i])\n    store y[i] = exp(t[i])", "vector fused") +
        "  store y[0] = t[7]\n", None),
    "functions become arithmetic": (
        "legalize_math", PAIR, loop("i", 20000, "y[i] = rsqrt(x[i])") + loop("j", 20000, "z[j] = neg(x[j])"),
        loop("i", 20000, "y[i] = div(1.0:float32, sqrt(x[i]))") + loop("j", 20000, "z[j] = neg(x[j])")),
    "which arithmetic is already": (
        "legalize_math", PAIR, loop("i", 20000, "y[i] = sqrt(x[i])") + loop("j", 20000, "z[j] = abs(x[j])"), None),
    "an estimate changes nothing": ("estimate", PAIR, loop("i", 20000, "y[i] = x[i]") + loop("j", 20000, "z[j] = x[j]"), None),
    "long loops are shared in runs": (
        "parallelize", CHAIN, loop("i", 100000, "y[i] = div(x[i], sqrt(x[i]))"),
        "  for chunk1 in 0 .. 2 parallel () {\n    $1 = mul(chunk1, 50048)\n"
        "    for i in $1 .. min(add($1, 50048), 100000) vector () {\n      $2 = x[i]\n      store y[i] = div($2, sqrt($2))\n"
        "    } -> ()\n  } -> ()\n"),
    "short ones are not": ("parallelize", FEW, loop("i", 16, "y[i] = div(x[i], sqrt(x[i]))"), None),
    "nor those of which an iteration needs the one before": (
        "parallelize", CHAIN, "  store y[0] = x[0]\n" +
        loop("i", 9999, "y[add(i, 1)] = div(y[i], sqrt(x[i]))", "serial") +
        "  copy y[10000] = x[0] count 90000\n", None),
    "what follows a product is done for its parts": (
        "gemm_epilogues", PRODUCT, GEMM + loop("i", 80000, "y[i] = max(t[i], 0.0:float32)"),
        "  gemm of t: float32[80000] " + GEMM[7:-1].replace("nj_gemm", "nj_gemm_epilogue") +
        " whole rows (row1, row_end2) columns (column3, column_end4) {\n    for line5 in row1 .. row_end2 serial () {\n"
        "      $1 = mul(line5, 200)\n      for i in add($1, column3) .. add($1, column_end4) vector () {\n"
        "        store y[i] = max(t[i], 0.0:float32)\n      } -> ()\n    } -> ()\n  }\n"),
    "but not if it reads other rows": (
        "gemm_epilogues", PRODUCT, GEMM + loop("i", 80000, "y[i] = t[sub(79999, i)]"), None),
    "products that share rows run for some of them at a time": (
        "row_strips", (SUMMED[0], SUMMED[1] % 3000000), MADE % (300, 0) + loop("i", 3000000, "t[i] = max(t[i], 0.0:float32)") +
        ADDED % (300, 0, 3000000, 0),
        "  for strip1 in 0 .. 3 serial () {\n    $1 = mul(strip1, 100)\n" + MADE % (100, "mul($1, 16)") +
        "    for row3 in 0 .. 100 serial () {\n      let line5: int64 = row3\n      let line6: int64 = add($1, row3)\n"
        "      for column4 in 0 .. 10000 vector () {\n        let v2: int64 = add(mul(line6, 10000), column4)\n"
        "        $2 = add(mul(line5, 10000), column4)\n        store t[$2] = max(t[$2], 0.0:float32)\n"
        "      } -> ()\n    } -> ()\n" +
        ADDED % (100, "mul($1, 4)", 1000000, "min($1, 1)") + "  } -> ()\n"),
    "but not if the loop between reads others": (
        "row_strips", (SUMMED[0], SUMMED[1] % 3000000), MADE % (300, 0) +
        loop("i", 1500000, "t[i] = t[sub(2999999, i)]") + ADDED % (300, 0, 3000000, 0), None),
    "a long sum is cut into blocks": (
        "blocked_sums", CHAIN_SUM, SUM % ("0", "5000", "acc"),
        "  for block1 in 0 .. 5 serial (sum2: float32 = 0.0:float32) {\n    $1 = mul(block1, 1024)\n"
        "    for i in $1 .. min(add($1, 1024), 5000) vector (acc: float32 = -0.0:float32) {\n      $2 = x[i]\n"
        "      next acc = add(acc, $2) combine add $2\n    } -> (part3)\n    next sum2 = add(sum2, part3)\n  } -> (total)\n"
        "  store y[0] = total\n"),
    "a short one is not": ("blocked_sums", CHAIN_SUM, SUM % ("0", "2000", "acc"), None),
    "a product of what a loop makes of a product": (
        "chained_products", CHAINED, FIRST + loop("i", 102400, "t[i] = max(t[i], 0.0:float32)") + SECOND,
        "  gemm of t: float32[102400] " + FIRST[7:-1].replace("nj_gemm", "nj_gemm_epilogue") +
        " whole rows (row1, row_end2) columns (column3, column_end4) {\n"
        "    for batch5 in div(row1, 400) .. add(div(sub(row_end2, 1), 400), 1) serial () {\n      $1 = mul(batch5, 400)\n"
        "      $2 = max(row1, $1)\n      $3 = min(row_end2, add($1, 400))\n      for line6 in $2 .. $3 serial () {\n"
        "        $4 = mul(line6, 256)\n        for i in add($4, 0) .. add($4, 256) vector () {\n"
        "          store t[i] = max(t[i], 0.0:float32)\n        } -> ()\n      } -> ()\n"
        "      call nj_gemm_rows(11, sub($3, $2), 4, 256, &t[mul($2, 256)], 256, 1, &u[mul(batch5, 0)], 4, 1, &y[mul($2, 4)]) "
        "reads (t, u) writes (y)\n    } -> ()\n  }\n"),
    "but not if that product reads it transposed": (
        "chained_products", CHAINED, FIRST + loop("i", 102400, "t[i] = max(t[i], 0.0:float32)") +
        SECOND.replace("256, 1, &u", "1, 400, &u"), None),
    "threads take rows through a whole loop": (
        "parallel_batches", ROWS, STARTS + STEPS + loop("i", 20000, "y[i] = sub(y[i], t[i])", level=2) +
        loop("j", 20000, "t[j] = add(t[j], y[j])", level=2) + "  } -> ()\n",
        STARTS + "  for chunk1 in 0 .. 16 parallel () {\n    let first2: int64 = mul(chunk1, 1250)\n"
        "    let rows3: int64 = min(1250, sub(20000, first2))\n" + STEPS.replace("  for", "    for") +
        loop("i", "add(first2, rows3)", "y[i] = sub(y[i], t[i])", level=3, start="first2") +
        loop("j", "add(first2, rows3)", "t[j] = add(t[j], y[j])", level=3, start="first2") + "    } -> ()\n  } -> ()\n"),
    "but not if rows read others": (
        "parallel_batches", ROWS, STARTS + STEPS + loop("i", 20000, "y[i] = t[sub(19999, i)]", level=2) +
        loop("j", 20000, "t[j] = y[j]", level=2) + "  } -> ()\n", None),
    "nor if there is little to do": (
        "parallel_batches", ROWS, STARTS + STEPS.replace("40", "2") + loop("i", 20000, "y[i] = sub(y[i], t[i])", level=2) +
        loop("j", 20000, "t[j] = add(t[j], y[j])", level=2) + "  } -> ()\n", None),
    "one row of an array is enough": (
        "row_contraction", ROWS, ROW % (" fused", "$1", "$1", "$1"), ROW % ("", "0", "0", "0")),
    "in loops that others were joined with": ("row_contraction", ROWS, ROW % ("", "$1", "$1", "$1"), None),
    "arrays that live at different times share memory": ("memory_plan", FEW, COPIES, COPIES),
    "without temporaries there is nothing to place": ("memory_plan", FEW[:1], "  copy y[0] = x[0] count 16\n", None),
    "loops that may not end ask": (
        "cancellation", PAIR, "  while (v: float32 = x[0]) {\n    test lt(v, 2.0:float32)\n    next v = mul(v, v)\n  } -> (w)\n"
        "  fill y[0] = w count 20000\n  fill z[0] = w count 20000\n",
        "  while cancellation_point 65536 (v: float32 = x[0]) {\n    test lt(v, 2.0:float32)\n    next v = mul(v, v)\n  } -> "
        "(w)\n  fill y[0] = w count 20000\n  fill z[0] = w count 20000\n"),
    "iterations over padding, which add zeros, are noted": (
        "limits", PADDED, MASKED_SUM % ("", "0.0"), MASKED_SUM % (" limit div(sub(mul(int64(n[0]), 1), 0), 1)", "0.0")),
    "but not if they add ones": ("limits", PADDED, MASKED_SUM % ("", "1.0"), None),
    "loops end at their limits": (
        "limit loops", PADDED, loop("i", "4 limit int64(n[0])", "y[i] = neg(x[i])"),
        loop("i", "min(4, int64(n[0]))", "y[i] = neg(x[i])")),
    "a single element is computed again": (
        "single elements", FEW, loop("i", 16, "a[i] = neg(x[i])") + "  fill y[0] = a[3] count 16\n",
        loop("i", 16, "a[i] = neg(x[i])") + "  fill y[0] = neg(x[3]) count 16\n"),
    "but not if other loops need the array": (
        "single elements", FEW,
        loop("i", 16, "a[i] = neg(x[i])") + loop("j", 16, "y[j] = a[j]") + "  store y[0] = a[3]\n", None),
    "masks go where a loop ends": (
        "limit loops", PADDED, loop("i", "4 limit int64(n[0])", "y[i] = select(lt(int32(i), n[0]), x[i], 0.0:float32)"),
        loop("i", "min(4, int64(n[0]))", "y[i] = x[i]")),
    "loops without a limit stay": ("limit loops", FEW, loop("i", 16, "y[i] = neg(x[i])"), None),
    "short loops do not": ("cancellation", FEW, loop("i", 16, "y[i] = neg(x[i])", "serial"), None),
}
TEMPS_AFTER = {
    "products that share rows run for some of them at a time": (SUMMED[1] % 1000000,),   # where a pass changes the temporaries
    "a product of what a loop makes of a product": (),
    "an array is stored over the one it is made of": CHAIN[1:2],
    "what follows a product is done for its parts": (),
    "one row of an array is enough": ("t: float32[512]",),
    "arrays that live at different times share memory": (
        "a: float32[16] at 0", "b: float32[16] at 64", "c: float32[16] at 0", "d: float32[16] at 64"),
}


def text(head, body: str, temps=None, scratch: int = 0) -> str:
    signature, *own = head
    declared = "".join(f"  temp {t}\n" for t in (own if temps is None else temps))
    return f"function f({signature}) scratch {scratch} {{\n{declared}{body}}}\n"


def context(one: Pass) -> Context:
    return Context(TARGET, facts=frozenset(one.requires), nanoseconds=0.0)


@pytest.mark.parametrize("name", CASES)
def test_text_to_text(name):
    one, head, before, after = PASS[CASES[name][0]], *CASES[name][1:]
    function = parse(text(head, before))
    run_passes(function, [one], context(one))
    verify(function)
    scratch = 128 if one.name == "memory_plan" and after else 0
    assert show(function) == show(parse(text(head, before if after is None else after, TEMPS_AFTER.get(name), scratch)))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] and " call " not in case[2]])
def test_values_stay(name):
    one, head, before, _ = PASS[CASES[name][0]], *CASES[name][1:]
    function, same = parse(text(head, before)), parse(text(head, before))
    run_passes(function, [one], context(one))
    xs = [np.random.default_rng(0).uniform(1.5, 2.5, b.size).astype(np.float32) if b.dtype.kind == "f" else
          np.full(b.size, 5, b.dtype) for b in same.inputs]
    if one.name == "limit loops":  # what lies behind the limit is not asked for
        same = function
    for got, want in zip(interpret(function, xs).outputs, interpret(same, xs).outputs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_every_pass_has_a_text_that_it_changes_and_one_that_it_leaves():
    for name in PASS:
        mine = [case for case in CASES.values() if case[0] == name]
        assert any(case[3] is None for case in mine) and (name == "estimate" or any(case[3] for case in mine)), name


def test_temporaries_of_parallel_loops_have_places_of_their_own():
    function = parse(text(FEW, PARALLEL_COPIES))
    run_passes(function, [PASS["memory_plan"]], context(PASS["memory_plan"]))
    assert [t.offset for t in function.temps] == [0, 64, 128, 192] and function.scratch_bytes == 256


def test_the_estimate_grows_with_the_work():
    found = []
    for size in (16, 160):
        given = context(estimate.PASS)
        run_passes(parse(text(CHAIN, loop("i", size, "y[i] = neg(x[i])"))), [estimate.PASS], given)
        found.append(given.nanoseconds)
    assert 0 < found[1] == pytest.approx(10 * found[0])


# --- the order of passes

def test_the_compilers_order_gives_each_pass_what_it_requires():
    facts = LOWERED
    for one in PASSES:
        facts = one.facts_after(facts)
    assert facts == {"arithmetic", "shared", "placed"}


@pytest.mark.parametrize("name", PASS)
def test_a_pass_without_what_it_requires_is_refused(name):
    one, ran = PASS[name], []
    facts = frozenset(set(FACTS) - {one.requires[0]})
    with pytest.raises(PassError, match=f"the pass '{name}' requires '{one.requires[0]}', but only .* hold"):
        run_passes(parse(text(FEW, "")), [one], Context(TARGET, facts=facts), lambda *_: ran.append(1))
    assert not ran


def test_passes_name_known_facts_only():
    with pytest.raises(ValueError, match=r"'odd' names facts that FACTS does not list: \['tidy'\]"):
        Pass("odd", "", lambda function, context: None, provides=("tidy",))
