"""Starts a program in several processes on this machine, to try what is to run on many hosts.

    python -m numjet.tools.launch -n 4 program.py arguments ...

Each process finds the others by `numjet.distributed.initialize()`. Lines of output begin with the number of the process. When
one fails, the others are given some seconds to end, and then ended; the exit status is that of the first that failed.
"""
from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO

GRACE = 15.0  # seconds that processes get to notice that another one failed
_POLL = 0.05


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(count: int, command: Sequence[str], devices: int = 1) -> list[subprocess.Popen[str]]:
    """The processes, which know of each other through their environment."""
    shared = {**os.environ, "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}", "JAX_NUM_PROCESSES": str(count),
              "JAX_NUM_CPU_DEVICES": str(devices), "PYTHONUNBUFFERED": "1"}
    return [subprocess.Popen(command, env={**shared, "JAX_PROCESS_ID": str(k)}, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT) for k in range(count)]


def _copy(number: int, lines: IO[str]) -> None:
    for line in lines:
        sys.stdout.write(f"[{number}] {line}")
        sys.stdout.flush()


def wait(processes: Sequence[subprocess.Popen[str]], grace: float = GRACE) -> int:
    """Waits for all; the exit status of the first that failed, else 0."""
    readers = [threading.Thread(target=_copy, args=(k, p.stdout), daemon=True) for k, p in enumerate(processes)]
    for reader in readers:
        reader.start()
    failed, until = 0, float("inf")
    try:
        while any(p.poll() is None for p in processes) and time.monotonic() < until:
            found = next((p.returncode for p in processes if p.poll() not in (None, 0)), 0)
            if found and not failed:
                failed, until = found, time.monotonic() + grace
            time.sleep(_POLL)
    finally:
        for p in processes:
            if p.poll() is None:
                p.kill()
            p.wait()
        for reader in readers:
            reader.join(1)
    failed = failed or next((p.returncode for p in processes if p.returncode), 0)
    return failed if failed >= 0 else 128 - failed


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status of the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, default=1, help="devices of the CPU in each process")
    parser.add_argument("--grace", type=float, default=GRACE, help="seconds until the others are ended after one failed")
    parser.add_argument("program", help="a file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if given.processes < 1 or given.devices < 1:
        parser.error("expected at least one process with one device")
    return wait(start(given.processes, [sys.executable, given.program, *given.arguments], given.devices), given.grace)


if __name__ == "__main__":
    sys.exit(main())
