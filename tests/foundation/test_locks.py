"""Imports that fail for want of memory, and by several threads at once."""
from __future__ import annotations

import errno
import sys
import threading
import time

import pytest

from numjet.foundation import locks


@pytest.mark.parametrize(("error", "expected"), [
    (OSError(errno.ENOMEM, "no"), MemoryError), (OSError(errno.EACCES, "no"), OSError),
    (ValueError("field 'target' is required for AnnAssign"), MemoryError), (ValueError("wrong data"), ValueError)], ids=str)
def test_a_module_that_cannot_be_read_or_parsed(monkeypatch, error, expected):
    """Python's parser, short of memory, complains of a node without its parts."""
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "of_no_file":
                raise error

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(expected):
        locks.import_module("of_no_file")


class _SlowFinder:
    """Finds packages after a while. Meanwhile Python holds their locks, and their modules that other threads import wait."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("package_b", "package_c"):
            time.sleep(0.1)


def _raised_in_threads(calls):
    """The errors of functions that run in a thread each, at once."""
    errors = []

    def run(call):
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """Two packages that import a module of theirs, and for each a user of that module."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [_SlowFinder, *sys.meta_path])
    for name in ("package_b", "package_c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"from {name}.module import answer")
        (tmp_path / name / "module.py").write_text("answer = 42")
        (tmp_path / f"user_of_{name}.py").write_text(f"from {name}.module import answer")
    yield
    for name in [name for name in sys.modules if name.removeprefix("user_of_").startswith(("package_b", "package_c"))]:
        del sys.modules[name]


def test_a_package_and_its_module_imported_at_once(packages):
    names = ["package_b", "package_b.module"] * 4
    assert not _raised_in_threads([lambda name=name: locks.import_module(name).answer for name in names])


def test_a_package_and_a_user_of_its_module_imported_at_once(packages):
    """`from package_b.module import answer` locks the module before its package: Python raises in one of the threads."""
    names = ["package_b", "package_c", "user_of_package_b", "user_of_package_c"]
    assert not _raised_in_threads([lambda name=name: locks.import_module(name).answer for name in names])
