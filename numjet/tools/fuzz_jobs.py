"""Worker processes for random programs, so that a crash or hang is found, named and the worker replaced.

Requests and answers are pickled objects, one a line in base64. A request is a seed, or a program; the answer is its verdict.
The parent waits for an answer up to a time limit.
"""
from __future__ import annotations

import base64
import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numjet as nj
from numjet.testing import generator, programs, verdict
from numjet.testing.verdict import Verdict
from numjet.tools.fuzz_jax import JaxProcess

FRESH_CACHES = 100  # programs after which a worker clears its caches
PATIENCE = 10        # bound of the wall time, as a multiple of the computing limit
LIFETIME = 3000  # programs after which a worker is replaced


@dataclass(frozen=True)
class Options:
    """Options for the generation and the verdicts of programs."""

    length: int = 6
    depth: int = 2
    backend: str = "cpu"
    jax_python: str | None = None
    checks: bool = False


@dataclass
class Answer:
    """The answer to a request. productions, refused: counts of generated instructions, and of those refused by tracing."""

    verdict: Verdict
    productions: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def drawn(seed: int, options: Options) -> tuple[programs.Program, generator.Generator]:
    """The program of a seed. With JAX, most are made of functions that JAX has, too."""
    g = generator.Generator(seed, options.length, options.depth, portable=bool(options.jax_python) and seed % 4 != 0)
    return programs.renumbered(g.program()), g


def answer(request: int | programs.Program, options: Options, jax: Any = None) -> Answer:
    """Runs one request here."""
    if isinstance(request, programs.Program):
        return Answer(verdict.judge(request, options.backend, jax, coverage=False))
    try:
        p, g = drawn(request, options)
    except Exception as error:
        return Answer(Verdict(f"generator: {verdict.described(error)}"))
    return Answer(verdict.judge(p, options.backend, jax), g.used, g.refused)


def serve(options: Options) -> None:
    """The loop of a worker: requests from its standard input, answers to what was its standard output."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of programs goes to stderr
    nj.config.update("jax_enable_compilation_cache", False)
    nj.config.update("jax_enable_checks", options.checks)
    jax = JaxProcess(options.jax_python) if options.jax_python else None
    for count, line in enumerate(sys.stdin.buffer, 1):
        found = answer(_read(line), options, jax)
        out.write(_line(found))
        if count % FRESH_CACHES == 0:
            nj.clear_caches()


def _cpu_seconds(pid: int) -> float:
    """The CPU time of a process; 0 where the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _line(x: Any) -> bytes:
    return base64.b64encode(pickle.dumps(x)) + b"\n"


def _read(line: bytes) -> Any:
    return pickle.loads(base64.b64decode(line))


class Worker:
    """A process that answers requests; a new one after a crash or hang."""

    def __init__(self, options: Options, limit: float = 40.0):
        self.options, self.limit, self.done = options, limit, 0
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, request: int | programs.Program) -> Answer:
        """The answer, or the verdict that the process crashed or hung."""
        if self.process is None:
            self._start()
        process = self.process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(_line(request))
            process.stdin.flush()
            line = self._line(process)
        except BrokenPipeError:
            line = b""
        except TimeoutError as late:
            self.close()
            return Answer(Verdict(str(late)))
        if not line.endswith(b"\n"):
            return Answer(Verdict(f"crash: {self._ended(process)}"))
        self.done += 1
        if self.done % LIFETIME == 0:
            self.close()
        found = _read(line)
        assert isinstance(found, Answer)
        return found

    def _start(self) -> None:
        text = f"from numjet.tools import fuzz_jobs; fuzz_jobs.serve(fuzz_jobs.{self.options!r})"
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", text], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """The next line, or the rest when the process ends. TimeoutError when it has computed for the limit, or has not
        answered for a multiple of it: other processes may use the CPU."""
        assert process.stdout is not None
        start, spent, found = time.monotonic(), _cpu_seconds(process.pid), b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not found.endswith(b"\n"):
                if not selector.select(min(1.0, self.limit)):
                    if _cpu_seconds(process.pid) - spent > self.limit:
                        raise TimeoutError(f"slow: no answer after {self.limit:.0f} s of computing")
                    if time.monotonic() - start > self.limit * PATIENCE:
                        raise TimeoutError(f"hang: no answer for {self.limit * PATIENCE:.0f} s")
                    continue
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                found += piece
        return found

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        self.close()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
