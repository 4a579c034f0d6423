"""Guards of the native core, imported before all else: against one that is missing, or was built from other declarations than
the Python files expect, and against sub-interpreters.

The core brings the text of `numjet/_native.pyi` that it was built with, and a test compares this text with what the core has.
So a checkout that moved on without its core is refused here, and not by an AttributeError, or a kernel called with other
arguments, wherever the difference matters first. Installed packages have both from one build and compare nothing.

Python may give sub-interpreters a copy of the core's names without calling its init function; they would then share the
objects of one interpreter.
"""
from __future__ import annotations

import os
import sys

try:
    import numjet._native as _core
except ModuleNotFoundError as error:
    if error.name != "numjet._native":
        raise
    _core = None  # type: ignore[assignment]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHECKOUT = os.path.dirname(_PACKAGE)
_BUILD = os.path.join(_CHECKOUT, "native", "build_dev.sh")


def _command() -> str:
    """What builds the core."""
    if os.path.exists(_BUILD):
        return f"run `PYTHON={sys.executable} sh {_BUILD}`, or install the checkout with `pip install {_CHECKOUT}`"
    return "install numjet again with `pip install --force-reinstall numjet`"


def _missing() -> str:
    """The message where no core is."""
    return f"numjet's native core is missing in {_PACKAGE} for {sys.implementation.cache_tag} on {sys.platform}: {_command()}"


def _stale(built: bytes | None, expected: bytes) -> str | None:
    """The message for a core that was built with other declarations; None for one that fits."""
    if built == expected:
        return None
    known = frozenset(map(bytes.strip, (built or b"").splitlines()))
    lines = [line for line in map(bytes.strip, expected.splitlines()) if not line.startswith((b"#", b"from", b"import"))]
    news = [line for line in lines if line not in known]
    example = f" (it lacks, for example, `{news[0].decode()}`)" if built is not None and news else ""
    return f"numjet's native core was built from other sources than the Python files in {_PACKAGE}{example}: {_command()}"


def check() -> None:
    """ImportError that says how to build the core, unless it is there and fits."""
    if _core is None:
        raise ImportError(_missing())
    if os.path.exists(_BUILD):
        with open(os.path.join(_PACKAGE, "_native.pyi"), "rb") as declarations:
            stale = _stale(getattr(_core, "declarations", None), declarations.read())
        if stale is not None:
            raise ImportError(stale)
    _core.check_interpreter()


check()
