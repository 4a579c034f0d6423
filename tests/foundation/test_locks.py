"""Imports that fail for want of memory."""
from __future__ import annotations

import errno
import sys

import pytest

from numjet.foundation import locks


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOMEM, MemoryError), (errno.EACCES, OSError)])
def test_a_module_whose_file_cannot_be_read(monkeypatch, number, expected):
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "of_no_file":
                raise OSError(number, "no")

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    with pytest.raises(expected):
        locks.import_module("of_no_file")
