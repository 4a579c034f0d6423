import logging
import threading

import pytest

from numjet.foundation import events
from numjet.foundation.config import explain_cache_misses, log_compiles


def test_counting_reports_growth_only():
    events.count("test.before")
    with events.counting() as grown:
        events.count("test.a")
        events.count("test.a", 2)
        events.count("test.zero", 0)
    assert grown == {"test.a": 3}
    assert events.counters()["test.a"] >= 3


def test_counters_are_a_copy():
    events.counters()["test.copy"] = 5
    assert "test.copy" not in events.counters()


def test_counts_from_threads_are_not_lost():
    with events.counting() as grown:
        threads = [threading.Thread(target=lambda: [events.count("test.t") for _ in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert grown == {"test.t": 2000}


def test_spans_tell_time_data_and_errors():
    seen = []
    with events.subscribe(seen.append):
        assert events.listening()
        with events.span("trace", name="f"):
            pass
        with pytest.raises(KeyError), events.span("compile"):
            raise KeyError
    first, second = seen
    assert (first.kind, first.name, first.data) == ("span", "trace", {"name": "f"})
    assert first.seconds >= 0 and first.thread == threading.get_ident()
    assert second.start >= first.start and second.data == {"error": "KeyError"}


def test_nobody_listening_costs_no_span():
    assert not events.listening()
    assert events.span("a") is events.span("b", x=1)


def test_subscriptions_end_once_and_the_same_listener_may_subscribe_twice():
    seen = []
    one, two = events.subscribe(seen.append), events.subscribe(seen.append)
    one.close()
    one.close()
    with events.span("x"):
        pass
    assert len(seen) == 1
    two.close()
    assert not events.listening()


def test_reasons_are_only_worked_out_for_somebody(caplog):
    asked = []

    def reason():
        asked.append(1)
        return "shape (2,) became (3,)"

    events.miss("jit", reason)
    assert asked == []
    seen = []
    with events.subscribe(seen.append):
        events.miss("jit", reason, function="f")
    assert seen[0].data == {"reason": "shape (2,) became (3,)", "function": "f"} and seen[0].kind == "miss"
    assert caplog.text == ""
    with explain_cache_misses(True), caplog.at_level(logging.WARNING, "numjet"):
        events.miss("jit", reason)
    assert "jit: cache miss: shape (2,) became (3,)" in caplog.text


def test_steps_are_logged_on_demand(caplog):
    with events.logged(lambda: "tracing f"):
        pass
    assert caplog.text == ""
    with log_compiles(True), events.logged(lambda: "tracing f"):
        pass
    with caplog.at_level(logging.DEBUG, "numjet"), events.logged(lambda: "tracing g"):
        pass
    assert [(r.levelname, r.getMessage().split(" in ")[0]) for r in caplog.records] == [
        ("WARNING", "Finished tracing f"), ("DEBUG", "Finished tracing g")]
