"""Listeners hear the events of their kind, until they are unregistered."""
import numpy as np
import pytest

import numjet as nj
from numjet import monitoring

KINDS = [("event", (), "event"), ("event_duration_secs", (0.5,), "event_duration"),
         ("event_time_span", (1.0, 2.0), "event_time_span"), ("scalar", (3,), "scalar")]


@pytest.mark.parametrize(("kind", "values", "short"), KINDS)
def test_listeners_hear_events_of_their_kind(kind, values, short):
    heard = []
    listener = lambda *args, **kwargs: heard.append((args, kwargs))
    getattr(monitoring, f"register_{kind}_listener")(listener)
    for other, more, _ in KINDS:
        getattr(monitoring, f"record_{other}")(f"/{other}", *more, where="here")
    assert heard == [((f"/{kind}", *values), {"where": "here"})]
    unregister = getattr(monitoring, f"unregister_{short}_listener")
    unregister(listener)
    with pytest.raises(AssertionError, match="is not a registered listener"):
        unregister(listener)


@pytest.fixture
def durations():
    heard = []
    monitoring.register_event_duration_secs_listener(
        lambda event, seconds, fun_name: heard.append((event.removeprefix("/jax/core/compile/"), fun_name)))
    yield heard
    monitoring.clear_event_listeners()


TRACED, LOWERED, COMPILED = (f"{step}_duration" for step in ("jaxpr_trace", "jaxpr_to_mlir_module", "backend_compile"))


def test_first_calls_are_traced_lowered_and_compiled(durations):
    def f(x):
        return x * 3 + 1
    jitted = nj.jit(f)
    for _ in range(2):
        jitted(2.0)
    assert durations == [(TRACED, "f"), (LOWERED, "jit(f)"), (COMPILED, "jit(f)")]


def test_stages_are_recorded_one_by_one(durations):
    def g(x):
        return x - 5
    lowered = nj.jit(g).lower(2.0)
    assert durations == [(TRACED, "g"), (LOWERED, "jit(g)")]
    lowered.compile()
    assert durations[2:] == [(COMPILED, "jit(g)")]
    nj.make_jaxpr(g)(2.0)
    nj.eval_shape(g, 2.0)
    assert durations[3:] == [(TRACED, "g")] * 2


def test_steps_have_a_beginning_and_an_end():
    spans, scalars = [], []
    monitoring.register_event_time_span_listener(lambda event, start, end, fun_name: spans.append((start, end)))
    monitoring.register_scalar_listener(lambda event, value, fun_name: scalars.append(value))
    nj.make_jaxpr(lambda x: x + 1)(1.0)
    monitoring.clear_event_listeners()
    assert len(spans) == 1 and spans[0][0] <= spans[0][1] and scalars == [spans[0][0]]


def test_all_listeners_are_cleared():
    heard = []
    monitoring.register_event_listener(lambda event: heard.append(event))
    monitoring.clear_event_listeners()
    monitoring.record_event("/x")
    assert heard == []


CACHE = {"numjet_cache": None, "jax_enable_compilation_cache": True, "jax_persistent_cache_min_compile_time_secs": 0,
         "jax_persistent_cache_min_entry_size_bytes": -1}


def test_searches_of_the_cache_on_disk_are_heard(tmp_path):
    heard = []
    flags = {**CACHE, "jax_compilation_cache_dir": str(tmp_path)}
    before = {flag: nj.config.read(flag) for flag in flags}
    monitoring.register_event_listener(lambda event: heard.append(event.removeprefix("/jax/compilation_cache/")))
    try:
        for flag, value in flags.items():
            nj.config.update(flag, value)
        for outcome in ("cache_misses", "cache_hits"):
            nj.jit(lambda x: x * 7.25 - 3)(np.arange(5, dtype=np.float32)).block_until_ready()
            assert heard[:2] == ["compile_requests_use_cache", outcome]
            heard.clear()
            nj.clear_caches()
    finally:
        monitoring.clear_event_listeners()
        for flag, value in before.items():
            nj.config.update(flag, value)
