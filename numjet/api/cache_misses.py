"""Explanations of cache misses: why a call of a jitted function is traced, by the closest call that was traced before."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.foundation.config import TraceToken
from numjet.foundation.record import Record
from numjet.foundation.source import Frame, of_function, summarize, user_frame
from numjet.foundation.tree import PyTreeDef

_WEAK_TYPES = "https://docs.jax.dev/en/latest/type_promotion.html#weak-types"
_MOST_LINES = 4096
_seen_lines: dict[str, str] = {}  # where functions were defined whose first calls were explained, and their names


class Key(Record):
    """What a trace belongs to: the arguments of the call, taken apart, and the settings that programs depend on."""

    in_tree: PyTreeDef
    avals: tuple[ShapedArray, ...]
    static: tuple[tuple[Any, Any], ...]
    context: TraceToken
    counts: tuple[int, tuple[str, ...]]  # positional arguments, names of the others


def explain(fun: Callable[..., Any], name: str, now: Key, before: Iterable[Key], names: Callable[[], Sequence[str]]) -> str:
    """Why no trace fits a call, as text of several lines. names: the leaves of its arguments as a user would write them."""
    frame = user_frame()
    start = f"{name}: TRACING CACHE MISS at {summarize(frame) if isinstance(frame, Frame) else 'an unknown place'} because:"
    candidates = [_differences(now, key, names) for key in before]
    if not candidates:
        return f"{start}\n  {_first_call(fun, name)}"
    fewest = min(map(len, candidates))
    lines = [line for one in candidates if len(one) == fewest for line in one]
    return "\n  ".join([start, "for the function " + of_function(fun), *dict.fromkeys(lines)])


def _first_call(fun: Callable[..., Any], name: str) -> str:
    where = of_function(fun)
    text = f"never seen function: {where}"
    if where in _seen_lines:
        text += (f"\n  but seen another function defined on the same line, {_seen_lines[where]}. Is the function made anew in "
                 "a loop? Make it once, in front of the loop.")
    if len(_seen_lines) >= _MOST_LINES:
        _seen_lines.clear()
    _seen_lines[where] = name
    return text


def _differences(now: Key, key: Key, names: Callable[[], Sequence[str]]) -> list[str]:
    """The differences of two keys, each as a sentence."""
    found = []
    if now.counts != key.counts:
        found.append(f"key with different number of args and kwargs: now {_counts(now)} and before {_counts(key)}")
    elif now.in_tree != key.in_tree:
        found.append(f"key with different input pytree: now {now.in_tree} and before {key.in_tree}")
    else:
        found += [f"key with different input types: at {name}, {_types(a, b)}"
                  for name, a, b in zip(names(), now.avals, key.avals, strict=True) if a is not b]
    if now.static != key.static:
        found.append(f"key with different value of static args: now {_listed(now.static)} and before {_listed(key.static)}")
    if now.context != key.context:
        found.append(f"key with different tracing context: {_flags(now.context, key.context)}")
    return found or ["the trace was dropped meanwhile, for others of this function or by clear_caches"]


def _counts(key: Key) -> str:
    count, keywords = key.counts
    return f"{count} args and kwargs with keys {list(keywords)}"


def _listed(static: tuple[tuple[Any, Any], ...]) -> str:
    return ", ".join(repr(value) if isinstance(which, int) else f"{which}={value!r}" for which, value in static)


def _flags(now: TraceToken, before: TraceToken) -> str:
    """The flags whose values differ."""
    old = dict(before.values)
    changed = [(name, value) for name, value in now.values if name in old and old[name] != value]
    found = [f"{name} is now {value} and before {old[name]}" for name, value in changed]
    return "; ".join(found) or "a context was made meanwhile"


def _types(now: ShapedArray, before: ShapedArray) -> str:
    if now.update(weak_type=False) != before.update(weak_type=False):
        return f"now {now.str_short()} and before {before.str_short()}"
    shown = [f"{a.str_short()}{{weak_type={a.weak_type}}}" for a in (now, before)]
    return f"now {shown[0]} and before {shown[1]} (see {_WEAK_TYPES})"
