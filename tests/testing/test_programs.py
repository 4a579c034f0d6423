"""The generator is deterministic and covers all operations; its text runs; the reference knows what rounding decides; reduction
finds small programs."""

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core.op import Missing, all_ops
from numjet.core.walk import all_eqns
from numjet.testing import generator, grammar, grammar_ops, programs, reduction, verdict
from numjet.testing.reference import Reference

# Operations that programs don't hold, and why.
NEVER = {
    "rng_uniform": "draws other numbers in each run",
    "random_mark": "stands in programs while jax_debug_key_reuse is on",
    "custom_lin": "stands between linearization and transposition only",
    "ffi_call": "calls a function in C by its address, which a program as text does not have",
    "check": "stands in functions that checkify takes, and in what is compiled where a flag says so only",
    "buffer_callback": "calls a Python function with the memory of its operands and results",
    "dce_sink": "keeps a value that nothing reads, and has no result",
    "pvary": "stands in functions of shards only",
    "preduced": "stands in functions of shards only",
    "reduced_vary_cast": "stands in functions of shards only",
    "vary_unreduced_cast": "stands in functions of shards only",
    "sharding_constraint": "places a value on the devices of a mesh",
    "device_put": "places a value on other devices",
    "reshard": "places a value on the devices of a mesh",
    "mesh_cast": "changes a type that names axes of a mesh",
    "custom_partitioning": "says by a Python function how several devices share the work",
    "inspect_sharding": "tells a Python function where a value is",
    **dict.fromkeys(("inside", "filled", "from_end"), "stands in programs for many sizes, whose arrays are padded"),
    "bind_size": "stands in bodies of programs with computed sizes, which are padded before they are compiled",
    "check_sizes": "stands in bodies of programs with computed sizes",
    "expect_size": "stands in bodies of programs with computed sizes",
    "leading": "says how far a padded axis has elements, in programs with computed sizes",
    "progress": "draws how far a loop is, by a Python function",
    "xla_metadata_call": "a call with attributes for XLA, which is inlined here",
    "name": "a mark, which the simplifier takes away; it has samples, so it is drawn by records",
}


def made(seed, **how):
    return programs.renumbered(generator.Generator(seed, **how).program())


def test_same_seed_same_program():
    assert programs.source(made(5)) == programs.source(made(5))
    assert programs.source(made(5)) != programs.source(made(6))


def test_every_operation_is_generated():
    """Every record with a cpu slot is in one of a few hundred programs: by its samples, or by a production. A new record
    without samples must get one."""
    wanted = {n for n, op in all_ops().items() if not isinstance(op.cpu, Missing)} - set(NEVER)
    met: set[str] = set()
    records = len(grammar_ops.sampled())
    for seed in range(800):   # programs with a reduction by a function are rare, and come right after the records
        first = "record" if seed < records else "windows" if seed < records + 60 else None
        p = made(seed, length=3, depth=2, large=False, first=first)
        with p.context():
            closed = nj.make_jaxpr(programs.load(p))(*programs.arguments(p))
        met |= {e.primitive.name for e in all_eqns(closed.jaxpr)}
        if wanted <= met:
            break
    assert wanted <= met, sorted(wanted - met)


def test_every_production_is_used():
    counts: dict[str, int] = dict.fromkeys(generator.PRODUCTIONS, 0)
    for seed in range(400):
        g = generator.Generator(seed, large=False)
        g.program()
        for name, n in g.used.items():
            counts[name] += n
        if all(counts.values()):
            return
    raise AssertionError([n for n, c in counts.items() if not c])


def test_sizes_dtypes_and_trip_counts_that_find_faults_are_drawn():
    text, dtypes, dims, depths = "", set(), set(), set()
    for seed in range(300):
        p = made(seed, large=False)
        text += programs.source(p)
        values = [*p.parameters, *(v for i in p.instructions() for v in i.outs)]
        dtypes |= {v.dtype for v in values}
        dims |= {n for v in values for n in v.shape}
        depths.add(depth(p))
    assert {
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    } <= dtypes
    assert set(grammar.DIMENSIONS) <= dims and {0, 1, 2} <= depths
    for part in (
        "length=0",
        "length=1,",
        "unroll=",
        "reverse=True",
        "fori_loop(0, 0",
        "mode='clip'",
        "mode='drop'",
        "mode='fill'",
        ".multiply(",
        ".min(",
        "in_axes=(-1",
        "None",
    ):
        assert part in text, part


def depth(p):
    return 1 + max((depth(q) for i in p.instructions() for q in i.programs), default=-1)


def test_scripts_run(capsys):
    for seed in (1, 2, 7):
        exec(compile(programs.script(made(seed, large=False)), "script", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "None\n" * 3


# ------------------------------------------------------------------------------------------------ the reference and the verdict


def test_reference_agrees_with_eager():
    for seed in range(40):
        p = made(seed, length=4, large=False)
        with p.context():
            fun, args = programs.load(p), programs.arguments(p)
            closed = nj.make_jaxpr(fun)(*args)
            with nj.disable_jit():
                want = [np.asarray(x) for x in fun(*map(jnp.asarray, args))]
            got = Reference().closed(
                closed, [np.asarray(x, v.aval.dtype) for x, v in zip(args, closed.jaxpr.invars, strict=True)]
            )
            assert verdict.compare(got, want, closed, args, verdict.Verdict()) is None


def test_noise_leaves_integers_alone():
    x = np.arange(1, 7, dtype=np.int32).reshape(2, 3)
    closed = nj.make_jaxpr(lambda x: (jnp.dot(x, x.T), jnp.prod(x, 0)))(x)
    for seed in range(8):  # half of them choose results that overflow in some order
        product, prod = Reference(1.0, seed).closed(closed, [x])
        assert (product == x @ x.T).all() and (prod == x.prod(0)).all()


def compared(fun, got, *args):
    closed = nj.make_jaxpr(fun)(*args)
    with nj.disable_jit():
        want = [np.asarray(x) for x in fun(*args)]
    found = verdict.Verdict()
    return verdict.compare([np.asarray(got, want[0].dtype)], want, closed, args, found), found.undecided


def test_cancellation_is_no_difference():
    x = np.float32([1e4, 1.0001e4])
    fun = lambda x: (jnp.sin(x[0] * x[1]) * 0 + (x[0] * x[1] - x[0] * x[0] * 1.0001),)
    exact = float(np.asarray(fun(jnp.asarray(x))[0]))
    assert compared(fun, exact + 8.0, x) == (None, 1)
    assert compared(fun, exact + 1e4, x)[0] is not None


def test_overflowing_partial_sums_decide_nothing():
    """3e38 * 2 meets an infinity in one order of the sum and joins it in the other; a lone infinity is decided."""
    big, low = np.float32(3e38), np.float32(-np.inf)
    x, y = np.array([[2, 1, 1]], np.float32), np.array([[big, low, 1], [low, low, 1]], np.float32).T.copy()
    closed = nj.make_jaxpr(jnp.matmul)(x, y)
    wanted = [np.array([[low, low]], np.float32)]
    assert verdict.compare([np.array([[np.nan, low]], np.float32)], wanted, closed, [x, y], verdict.Verdict()) is None
    assert verdict.compare([np.array([[low, np.nan]], np.float32)], wanted, closed, [x, y], verdict.Verdict())


def test_wrong_bits_are_a_difference():
    x = np.float32([0.5, 2.0, 3.0])
    want = np.sin(x)
    assert compared(lambda x: (jnp.sin(x),), want, x) == (None, 0)
    assert compared(lambda x: (jnp.sin(x),), want * np.float32([1, 1, 1.0001]), x)[0] is not None
    assert compared(lambda x: (jnp.sin(x),), np.float32([want[0], np.nan, want[2]]), x)[0] is not None


def test_integers_of_comparisons_that_rounding_flips_are_undecided():
    x = np.float32([3.0, 2.0])
    fun = lambda x: ((jnp.sin(x) ** 2 + jnp.cos(x) ** 2 > 1).astype(np.int32),)
    with nj.disable_jit():
        want = np.asarray(fun(jnp.asarray(x))[0])
    assert compared(fun, 1 - want, x) == (None, 1)
    assert compared(lambda x: (jnp.argsort(x),), [0, 1], x)[0] is not None


def test_what_changes_between_two_runs_is_found(monkeypatch):
    counter = iter(range(1000))
    monkeypatch.setattr(verdict, "_plain", lambda x: np.asarray(x) + next(counter))
    assert verdict.judge(made(3, large=False)).kind in ("unsteady", "result")


# ------------------------------------------------------------------------------------------------ reduction


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_reduction_keeps_what_fails_and_little_else(seed):
    """The failure: that a statement of the program is there."""
    p = made(seed, length=8, depth=3, large=False)
    name = p.body[0].name
    fails = lambda q: any(i.name == name for i in q.instructions())
    small = reduction.reduce(p, fails, 300.0)
    assert fails(small) and sum(1 for _ in small.instructions()) <= 2
    exec(compile(programs.source(small), "small", "exec"), {})


def test_reduction_of_a_wrong_compiler():
    """A compiler that is wrong where a sine is in a loop gives a loop and a sine."""

    def fails(p):
        with p.context():
            try:
                closed = nj.make_jaxpr(programs.load(p))(*programs.arguments(p))
            except Exception:
                return False
        inner = [e for eqn in closed.eqns if eqn.primitive.name == "scan" for e in all_eqns(eqn.params["jaxpr"].jaxpr)]
        return any(e.primitive.name in ("sin", "tanh") for e in inner)

    p = next(q for q in (made(s, length=8, depth=2, large=False) for s in range(300)) if fails(q))
    small = reduction.reduce(p, fails, 300.0)
    assert fails(small) and len(list(small.instructions())) <= 3, programs.source(small)
