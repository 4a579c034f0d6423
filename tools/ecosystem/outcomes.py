"""A pytest plugin that writes the outcome of every test to a file when the test ends, so a crash loses one test only.

Lines are `test<TAB>outcome<TAB>message`. The variables ECOSYSTEM_OUTCOMES and ECOSYSTEM_DONE name the file and one with tests
to leave out, a line each.
"""
from __future__ import annotations

import os
from pathlib import Path

import pytest

FILE = Path(os.environ["ECOSYSTEM_OUTCOMES"])
DONE = Path(os.environ["ECOSYSTEM_DONE"])


def write(test: str, outcome: str, message: str = "") -> None:
    """Appends a line."""
    with FILE.open("a", encoding="utf8") as file:
        file.write(f"{test}\t{outcome}\t{' '.join(message.split())[:300]}\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests that an earlier process has run."""
    done = set(DONE.read_text(encoding="utf8").splitlines())
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid in done])
    items[:] = [i for i in items if i.nodeid not in done]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported counts as one failure."""
    if report.failed:
        write(report.nodeid, "failed", str(report.longrepr).strip().rpartition("\n")[2])


def pytest_runtest_logstart(nodeid: str) -> None:
    write(nodeid, "started")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Writes how a test ended: passed, failed, or skipped (which expected failures are, too)."""
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        write(report.nodeid, report.outcome, crash.message if crash is not None else "")
