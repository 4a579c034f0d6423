"""Listeners hear the events of their kind, until they are unregistered."""
import pytest

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
    with pytest.raises(ValueError, match="is not a registered listener"):
        unregister(listener)


def test_all_listeners_are_cleared():
    heard = []
    monitoring.register_event_listener(lambda event: heard.append(event))
    monitoring.clear_event_listeners()
    monitoring.record_event("/x")
    assert heard == []
