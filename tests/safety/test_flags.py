"""Flags across threads: a change for the process is seen by the next call of every thread, a context by its own thread only."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.api import jit as jit_module
from numjet.api.sharding.mesh import make_mesh
from numjet.foundation import config as module
from numjet.foundation.config import config
from numjet.foundation.errors import TypePromotionError
from numjet.foundation.flags import FLAGS, Flag

WAYS = ("host_to_device", "device_to_device", "device_to_host")
GUARDS = ["jax_transfer_guard", *(f"jax_transfer_guard_{way}" for way in WAYS)]
SAMPLES = {
    "jax_numpy_rank_promotion": "warn", "jax_numpy_dtype_promotion": "strict", "jax_default_matmul_precision": "high",
    "jax_default_prng_impl": "rbg", "jax_legacy_prng_key": "error", "jax_explicit_x64_dtypes": "error",
    "numjet_index_checks": "all",
    "jax_default_device": "cpu", "jax_platforms": "cpu", "jax_platform_name": "cpu",
    **dict.fromkeys([*GUARDS, "jax_array_garbage_collection_guard"], "log"),
    "jax_traceback_filtering": "off", "jax_logging_level": "ERROR", "jax_debug_log_modules": "mine",
    "jax_compilation_cache_dir": "/nowhere",
    "numjet_dump": "", "numjet_num_threads": 1, "numjet_cache": "0", "numjet_tiers": "one",
    "numjet_instruction_set": "baseline", "numjet_compute_type": "device_host", "numjet_mesh": make_mesh((1,), ("x",)),
    "numjet_xla_metadata": 'xla_metadata({"a": "b"})',
}


def another(flag: Flag) -> Any:
    """A value that is not the one in force."""
    now = config.read(flag.name)
    if flag.name in SAMPLES:
        return flag.default if now == SAMPLES[flag.name] else SAMPLES[flag.name]
    return not now if isinstance(now, bool) else now + 1


class Worker:
    """A thread that runs what it is given, one after the other."""

    def __init__(self) -> None:
        self._given: queue.Queue[Callable[[], Any] | None] = queue.Queue()
        self._answers: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (task := self._given.get()) is not None:
            try:
                self._answers.put((task(), None))
            except BaseException as error:
                self._answers.put((None, error))

    def __call__(self, task: Callable[[], Any]) -> Any:
        self._given.put(task)
        answer, error = self._answers.get(timeout=120)
        if error is not None:
            raise error
        return answer

    def end(self) -> None:
        self._given.put(None)
        self._thread.join(120)


def fresh(task: Callable[[], Any]) -> Any:
    """The answer of a thread of its own."""
    worker = Worker()
    try:
        return worker(task)
    finally:
        worker.end()


@pytest.fixture
def old() -> Iterator[Worker]:
    """A thread that was there, and had used numjet, before the test changes anything."""
    worker = Worker()
    worker(lambda: np.asarray(nj.jit(lambda x: x + 1)(jnp.ones(3)) * 2))
    yield worker
    worker.end()


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)
    assert config.values == before


SETTLED = {"jax_num_cpu_devices"}  # once devices were listed
CHANGEABLE = [flag for flag in FLAGS if not flag.fixed and not flag.inert and flag.name not in SETTLED]


class Counted:
    """A jitted function that knows how often its slow path was taken, and how often it was traced."""

    def __init__(self) -> None:
        self.slow = self.traced = 0
        state = jit_module.Jitted(self._body, dict.fromkeys(
            ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "device", "backend")) | {
            "keep_unused": False, "inline": False})

        def slow_path(args: Any, kwargs: Any) -> Any:
            self.slow += 1
            return state.call(args, kwargs)

        self.call = _native.JitFunction(slow_path, (), (), "counted")

    def _body(self, x: Any) -> Any:
        self.traced += 1
        return x + 1

    def slow_calls(self, x: Any) -> int:
        """How often the next call takes the slow path: 0 or 1."""
        before = self.slow
        with contextlib.suppress(*([RuntimeError] if config.no_execution else [])):
            self.call(x)
        return self.slow - before


def test_the_samples_are_other_values_of_flags_that_exist():
    assert set(SAMPLES) <= {flag.name for flag in FLAGS}
    for flag in CHANGEABLE:
        value = another(flag)
        assert flag.convert(value) == value and value != config.read(flag.name)


@pytest.mark.parametrize("changes", ["here", "there"])
@pytest.mark.parametrize("flag", CHANGEABLE, ids=lambda flag: flag.name)
def test_a_change_is_seen_by_the_next_call_of_every_thread(flag, changes, old):
    value, f, x = another(flag), Counted(), np.ones(3, np.float32)
    threads: list[Callable[[Callable[[], Any]], Any]] = [lambda task: task(), old, fresh]
    for thread in threads:
        thread(lambda: f.call(x))
    assert [thread(lambda: f.slow_calls(x)) for thread in threads] == [0, 0, 0]
    before, tokens = config.read(flag.name), [thread(lambda: config.token) for thread in threads]
    threads[changes == "there"](lambda: config.update(flag.name, value))
    for thread in threads:
        assert thread(lambda: config.read(flag.name)) == value
    now = [thread(lambda: config.token) for thread in threads]
    assert len(set(now)) == 1 and (now != tokens) == flag.traces
    slow = [thread(lambda: f.slow_calls(x)) for thread in threads]
    step_by_step = flag.name in ("jax_debug_nans", "jax_debug_infs", "jax_debug_key_reuse", "jax_disable_jit",
                                 "jax_check_tracer_leaks", "jax_no_execution", *GUARDS)
    assert slow == ([1, 1, 1] if step_by_step else [1, 0, 0] if flag.traces else [0, 0, 0])
    threads[changes == "here"](lambda: config.update(flag.name, before))
    assert [thread(lambda: config.token) for thread in threads] == tokens
    slow = [thread(lambda: f.slow_calls(x)) for thread in threads]
    assert slow == [0, 0, 0]


@pytest.mark.parametrize("holder", ["here", "there"])
@pytest.mark.parametrize("flag", CHANGEABLE, ids=lambda flag: flag.name)
def test_a_context_is_seen_by_its_own_thread_only(flag, holder, old):
    value, f, x = another(flag), Counted(), np.ones(3, np.float32)
    threads: list[Callable[[Callable[[], Any]], Any]] = [lambda task: task(), old, fresh]
    f.call(x)
    before, block = config.read(flag.name), module.Override(flag.name, value)
    inside = threads[holder == "there"]
    inside(block.__enter__)
    for thread in threads:
        assert (thread(lambda: config.read(flag.name)) == value) == (thread is inside)
        assert thread(lambda: f.slow_calls(x)) == ((flag.traces or flag.name in GUARDS) and thread is inside)
        if thread is not inside:
            assert thread(lambda: f.slow_calls(x)) == 0
    inside(lambda: block.__exit__(None, None, None))
    for thread in threads:
        assert thread(lambda: config.read(flag.name)) == before
        assert thread(lambda: f.slow_calls(x)) == 0


@pytest.mark.parametrize("flag", CHANGEABLE, ids=lambda flag: flag.name)
def test_a_change_is_not_seen_inside_of_a_context_but_after_it(flag, old):
    value, before = another(flag), config.read(flag.name)

    def enter():
        block.__enter__()

    block = module.Override(flag.name, before)
    old(enter)
    config.update(flag.name, value)
    assert old(lambda: config.read(flag.name)) == before and fresh(lambda: config.read(flag.name)) == value
    old(lambda: block.__exit__(None, None, None))
    assert old(lambda: config.read(flag.name)) == value


def test_wide_numbers_everywhere_after_one_update(old):
    k = nj.jit(lambda x: x * 2)
    pick = nj.jit(lambda x: jnp.where(x > 0, x, 0.5))
    uses = [
        lambda: k(1.5).dtype, lambda: k(np.float64(1.5)).dtype, lambda: pick(1.5).dtype,
        lambda: jnp.asarray(1.5).dtype, lambda: jnp.ones(3).dtype, lambda: (jnp.ones(3) + 1.5).dtype,
        lambda: jnp.softmax(np.ones(3)).dtype if hasattr(jnp, "softmax") else nj.nn.softmax(np.ones(3)).dtype,
        lambda: jnp.median(np.ones(5)).dtype, lambda: nj.random.uniform(nj.random.key(0)).dtype,
        lambda: jnp.add(np.ones(70000), np.ones(70000)).dtype, lambda: nj.grad(lambda x: x * x)(1.5).dtype,
        lambda: nj.lax.fori_loop(0, 3, lambda i, x: x + 1.5, jnp.zeros(())).dtype,
        lambda: jnp.einsum("i,i->", np.ones(3), np.ones(3)).dtype, lambda: jnp.arange(3.0).dtype,
        lambda: jnp.ones(70000).at[np.zeros(70000, np.int32)].add(np.ones(70000)).dtype,
    ]

    def narrow_and_wide() -> list[Any]:
        return [np.dtype(use()) for use in uses]

    narrow = [np.dtype(np.float32)] * len(uses)
    assert narrow_and_wide() == old(narrow_and_wide) == narrow
    config.update("jax_enable_x64", True)
    wide = [np.dtype(np.float64)] * len(uses)
    assert fresh(narrow_and_wide) == wide
    assert old(narrow_and_wide) == wide
    assert narrow_and_wide() == wide
    old(lambda: config.update("jax_enable_x64", False))
    assert narrow_and_wide() == old(narrow_and_wide) == fresh(narrow_and_wide) == narrow


def test_the_other_flags_do_in_all_threads_what_they_say(old):
    f, g = nj.jit(lambda x: jnp.log(x)), nj.jit(lambda x, y: x + y)
    row, table, whole = np.ones(3, np.float32), np.ones((2, 3), np.float32), jnp.arange(3)
    nan, key, raw = jnp.array(-1.0), lambda: nj.random.key(0), nj.random.PRNGKey(0)
    calls: list[Any] = []
    h = nj.jit(lambda x: (calls.append(None), x)[1])

    def raises(error: type[Exception], call: Callable[[], Any]) -> bool:
        try:
            call()
        except error:
            return True
        return False

    def runs_python() -> bool:
        before = len(calls)
        h(row)
        return len(calls) > before

    def seed_matters() -> bool:
        return not np.array_equal(nj.random.key_data(key()), base)

    h(row)
    base = np.asarray(nj.random.key_data(key()))
    behaviours = [
        ("jax_debug_nans", True, lambda: raises(FloatingPointError, lambda: f(nan))),
        ("jax_debug_nans", True, lambda: raises(FloatingPointError, lambda: nan * np.float32(np.nan))),
        ("jax_debug_infs", True, lambda: raises(FloatingPointError, lambda: f(jnp.array(0.0)))),
        ("jax_disable_jit", True, runs_python),
        ("jax_numpy_rank_promotion", "raise", lambda: raises(ValueError, lambda: g(row, table))),
        ("jax_numpy_rank_promotion", "raise", lambda: raises(ValueError, lambda: jnp.asarray(row) + jnp.asarray(table))),
        ("jax_no_execution", True, lambda: raises(RuntimeError, lambda: f(nan))),
        ("jax_no_execution", True, lambda: raises(RuntimeError, lambda: nan + nan)),
        ("jax_allow_f16_reductions", False, lambda: raises(ValueError, lambda: nj.lax.reduce_sum(np.ones(3, "float16"), [0]))),
        ("jax_numpy_dtype_promotion", "strict", lambda: raises(TypePromotionError, lambda: g(row, whole))),
        ("jax_numpy_dtype_promotion", "strict", lambda: raises(TypePromotionError, lambda: jnp.asarray(row) + whole)),
        ("jax_random_seed_offset", 5, seed_matters),
        ("jax_default_prng_impl", "rbg", lambda: key().dtype == nj.random.key_dtype("rbg")),
        ("jax_legacy_prng_key", "error", lambda: raises(ValueError, lambda: nj.random.bits(raw))),
        ("jax_enable_custom_prng", True, lambda: nj.random.PRNGKey(0).shape == ()),
        ("jax_default_matmul_precision", "highest",
         lambda: "HIGHEST" in str(nj.make_jaxpr(lambda x: x @ x)(np.ones((2, 2), np.float32)))),
    ]
    for name, value, holds in behaviours:
        off = config.read(name)
        assert [holds(), holds(), old(holds), fresh(holds)] == [False] * 4, name
        config.update(name, value)
        assert [fresh(holds), old(holds), old(holds), holds()] == [True] * 4, name
        old(lambda name=name, off=off: config.update(name, off))
        assert [holds(), old(holds), fresh(holds)] == [False] * 3, name
        with module.Override(name, value):
            assert [holds(), old(holds), fresh(holds), holds()] == [True, False, False, True], name
        assert [holds(), old(holds), fresh(holds)] == [False] * 3, name


def test_small_operations_stay_native_while_another_thread_looks_at_steps(old):
    asked: list[Any] = []
    hook = _native.set_hook("__add__", None)
    _native.set_hook("__add__", lambda a, b: (asked.append(None), hook(a, b))[1])
    x = jnp.ones(3)
    try:
        for setting in (module.debug_nans, module.debug_infs, module.disable_jit, module.check_tracer_leaks):
            block = setting(True)
            old(block.__enter__)
            x + x
            assert not asked
            old(lambda: x + x)
            assert len(asked) == 1
            old(lambda block=block: block.__exit__(None, None, None))
            old(lambda: x + x)
            assert len(asked) == 1
            asked.clear()
    finally:
        _native.set_hook("__add__", hook)


def test_threads_in_contexts_of_their_own_disturb_nobody(scale):
    """Some threads enter and leave contexts, some call, one changes the process's flag: everybody gets what holds for him."""
    f, wrong, stop = nj.jit(lambda x: x * 2), [], threading.Event()
    x = np.float64(1.5)

    def in_contexts(wide: bool) -> None:
        for _ in range(300 * scale):
            with module.enable_x64(wide):
                if f(x).dtype != (np.float64 if wide else np.float32):
                    wrong.append(("context", wide))
                with module.enable_x64(not wide), module.debug_nans(True):
                    if f(x).dtype != (np.float32 if wide else np.float64):
                        wrong.append(("inner", wide))

    def changing() -> None:
        while not stop.is_set():
            for wide in (True, False):
                config.update("jax_enable_x64", wide)
                if f(x).dtype != (np.float64 if wide else np.float32):
                    wrong.append(("process", wide))

    threads = [threading.Thread(target=in_contexts, args=(k % 2 == 0,)) for k in range(4)]
    changer = threading.Thread(target=changing)
    for thread in (*threads, changer):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    changer.join()
    assert not wrong


def test_generators_that_end_in_another_order_leave_nothing_behind():
    def holding(setting: Any, value: Any) -> Iterator[Any]:
        with setting(value):
            yield

    first, second, third = (holding(module.enable_x64, wide) for wide in (True, True, False))
    for one in (first, second, third):
        next(one)
    assert config.x64 is False
    first.close()
    assert config.x64 is False
    third.close()
    assert config.x64 is True
    second.close()
    assert config.x64 is False and nj.jit(lambda x: x)(1.5).dtype == np.float32


def test_a_generator_that_another_thread_closes_ends_its_own_context(old):
    def holding() -> Iterator[Any]:
        with module.enable_x64():
            yield

    one, f = holding(), nj.jit(lambda x: x)
    old(lambda: next(one))
    assert old(lambda: f(1.5).dtype) == np.float64 and f(1.5).dtype == np.float32
    with module.enable_x64():
        one.close()
        assert f(1.5).dtype == np.float64
    assert old(lambda: f(1.5).dtype) == f(1.5).dtype == np.float32


def test_a_decorated_function_runs_in_many_threads_at_once(scale):
    inside = threading.Barrier(4)

    @module.enable_x64(True)
    def wide() -> Any:
        inside.wait(60)
        return jnp.asarray(1.5).dtype

    results = []

    def use() -> None:
        for _ in range(20 * scale):
            results.append((wide(), jnp.asarray(1.5).dtype))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {(np.dtype(np.float64), np.dtype(np.float32))} and len(results) == 80 * scale


def test_a_context_that_a_task_holds_is_its_thread_s():
    seen = []

    async def holding() -> None:
        with module.enable_x64():
            await asyncio.sleep(0)
            seen.append(jnp.asarray(1.5).dtype.name)
            await asyncio.sleep(0)

    async def looking() -> None:
        seen.append(await asyncio.to_thread(lambda: jnp.asarray(1.5).dtype.name))

    async def both() -> None:
        await asyncio.gather(holding(), holding(), looking())

    asyncio.run(both())
    assert sorted(seen) == ["float32", "float64", "float64"]
    assert config.x64 is False and nj.jit(lambda x: x)(1.5).dtype == np.float32


def test_a_flag_that_changes_while_a_function_is_traced_spoils_no_cache(old):
    """What was traced partly under one value and partly under another serves that call only."""
    changed = []

    def body(x: Any) -> Any:
        if not changed:
            changed.append(old(lambda: config.update("jax_enable_x64", True)))
        return x * jnp.asarray(1.5)

    f = nj.jit(body)
    f(np.float64(1))
    config.update("jax_enable_x64", False)
    assert f(np.float64(1)).dtype == np.float32
    config.update("jax_enable_x64", True)
    assert f(np.float64(1)).dtype == np.float64


def test_tokens_go_with_the_last_that_needs_them():
    def tokens() -> int:
        gc.collect()
        return len(config._shared.tokens)

    before = tokens()
    for offset in range(1000):
        with module.Override("jax_random_seed_offset", offset + 12345):
            jnp.ones(3) + 1
    assert tokens() <= before + 20


def test_a_flag_that_goes_back_and_forth_has_the_serials_from_before():
    """Programs of other processes have no trace that holds the token: its serial alone finds them."""
    def serials() -> list[int]:
        found = []
        for offset in range(4):
            with module.Override("jax_random_seed_offset", offset + 777):
                found.append(config.token.serial)
        return found

    assert serials() == serials()


def test_a_serial_is_never_used_again():
    serials = set()
    for offset in range(100):
        with module.Override("jax_random_seed_offset", offset + 54321):
            assert config.token.serial not in serials
            serials.add(config.token.serial)


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.fixed], ids=lambda flag: flag.name)
def test_a_flag_that_is_read_at_import_cannot_be_changed(flag):
    value, before = another(flag), config.read(flag.name)
    with pytest.raises(ValueError, match=rf"{flag.name} is read when numjet is imported.*set {flag.environment[0]}="):
        config.update(flag.name, value)
    with pytest.raises(ValueError, match="read when numjet is imported"), module.Override(flag.name, value):
        raise AssertionError("the block has been entered")
    config.update(flag.name, before)
    assert config.read(flag.name) == before
