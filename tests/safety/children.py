"""Child processes for the safety tests: forked ones that report, and scripts; whatever hangs is killed and fails."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds, on a loaded machine


def forked(check: Callable[[], None], patience: float = PATIENCE) -> None:
    """Runs `check` in a forked child, which ends there; fails with the child's error, or when it hangs."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _report(check, writer)
    os.close(writer)
    try:
        status = waited(pid, patience)
        with os.fdopen(reader, "rb") as pipe:
            message = pipe.read().decode()
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    assert status == 7, message or f"the child ended with {status}"


def _report(check: Callable[[], None], writer: int) -> None:
    """Does not return, whatever happens."""
    try:
        check()
        os._exit(7)
    except BaseException:
        os.write(writer, traceback.format_exc().encode())
    finally:
        os._exit(1)


def waited(pid: int, patience: float) -> int:
    """The exit code of a child; AssertionError when it takes too long."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    raise AssertionError(f"the child hangs: it did not end within {patience} s")


def script(code: str, patience: float = PATIENCE) -> str:
    """What a program prints that starts with the usual imports; fails when it fails, is killed or hangs."""
    ran = started(code, patience)
    assert ran.returncode == 0, f"exit code {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def started(code: str, patience: float = PATIENCE, first: str = "") -> subprocess.CompletedProcess[str]:
    """A program that starts with the usual imports, run to its end; AssertionError when it hangs. first: a line before them."""
    preamble = f"""
    {first}
    import os, signal, sys, threading, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import numpy as np, numjet as nj, numjet.numpy as jnp
    from numjet import _native
    from children import forked, waited
    """
    source = textwrap.dedent(preamble) + textwrap.dedent(code)
    command = [sys.executable, "-X", "faulthandler", "-c", source]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"the program hangs: {error.stdout!r} {error.stderr!r}") from None
