"""Command-line flags: the flags of this package among those of Abseil, for programs that start by `absl.app.run`.

    python program.py --jax_enable_x64 --jax_default_matmul_precision=highest

Only flags that the command line sets change the configuration. Abseil need not be installed for anything else.
"""
from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from numjet.foundation import lazy_import
from numjet.foundation.flags import FLAGS, Flag, parse_bool

app = lazy_import.Module("absl.app")
flags = lazy_import.Module("absl.flags")


def define(update: Callable[[str, Any], None], read: Callable[[str], Any]) -> None:
    """Defines Abseil's flag for each of ours; `update(name, value)` is called for those that the command line has set, when
    `absl.app.run` has parsed it. The first call defines them, later ones do nothing."""
    if FLAGS[0].name in flags.FLAGS:
        return
    for flag in FLAGS:
        _define(flag, read(flag.name))
    app.call_after_init(lambda: apply(update))


def _define(flag: Flag, value: Any) -> None:
    if flag.parse is parse_bool:
        flags.DEFINE_boolean(flag.name, value, flag.doc)
    else:
        flags.DEFINE_string(flag.name, None if value is None else str(value), flag.doc)


def apply(update: Callable[[str, Any], None]) -> None:
    """Calls `update(name, value)` for each flag that the command line has set. Raises ValueError for a value that the flag
    does not accept."""
    for flag in FLAGS:
        found = flags.FLAGS[flag.name]
        if found.present:
            update(flag.name, found.value)


def parse(update: Callable[[str, Any], None]) -> None:
    """Reads our flags from the command line now, up to a `--`, and leaves its other arguments alone."""
    own = [argument for argument in itertools.takewhile(lambda a: a != "--", sys.argv) if _is_own(argument)]
    flags.FLAGS(["", *own], known_only=True)
    apply(update)


def _is_own(argument: str) -> bool:
    return argument.lstrip("-").removeprefix("no").startswith(("jax_", "numjet_")) and argument.startswith("-")
