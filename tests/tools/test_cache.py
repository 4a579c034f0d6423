"""The tool that shows, verifies and clears the cache of compiled programs."""
from __future__ import annotations

import pytest

from numjet.foundation import disk_cache
from numjet.foundation.config import config
from numjet.tools import cache


@pytest.fixture
def folder(tmp_path):
    before = config.read("numjet_cache")
    config.update("numjet_cache", str(tmp_path / "cache"))
    for name in ("one", "two", "three"):
        disk_cache.keep(name, name.encode() * 100, 1.0)
    yield tmp_path / "cache"
    config.update("numjet_cache", before)


def test_show_and_list(folder, capsys):
    assert cache.main([]) == 0 and "3 entries" in capsys.readouterr().out
    assert cache.main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}.numjet" in shown for name in ("one", "two", "three")) and "damaged" not in shown


def test_verify_and_clear(folder, capsys):
    assert cache.main(["verify"]) == 0 and "3 entries are whole" in capsys.readouterr().out
    (folder / "two.numjet").write_bytes(b"no entry")
    assert cache.main(["verify"]) == 1 and "damaged: two.numjet" in capsys.readouterr().out
    assert cache.main(["list"]) == 0 and "  damaged" in capsys.readouterr().out
    assert cache.main(["clear", "--damaged"]) == 0 and cache.main(["verify"]) == 0
    assert "2 entries are whole" in capsys.readouterr().out
    assert cache.main(["clear"]) == 0 and not list(folder.iterdir())


def test_folders_that_are_not_used(folder, capsys, tmp_path):
    folder.chmod(0o777)
    assert cache.main(["clear"]) == 2 and "other users may write" in capsys.readouterr().err
    assert cache.main(["--folder", str(tmp_path / "none")]) == 0 and "does not exist" in capsys.readouterr().out
    config.update("numjet_cache", "0")
    assert cache.main([]) == 0 and "off" in capsys.readouterr().out
