"""The cache of compiled programs on disk: what it holds, whether it is whole, and how to empty it.

    python -m numjet.tools.cache                 number and size of the entries, and where they are
    python -m numjet.tools.cache list            one line for each, the most recently used first
    python -m numjet.tools.cache verify          checks every entry against its checksum; status 1 if one is damaged
    python -m numjet.tools.cache clear           removes all entries; clear --damaged: those that are damaged
    python -m numjet.tools.cache --folder PATH   of another folder than the one that the flags name
"""
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from numjet.foundation import disk_cache
from numjet.foundation.config import config


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool; the status of the process."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.cache", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("action", nargs="?", choices=("show", "list", "verify", "clear"), default="show")
    parser.add_argument("--folder", type=Path, help="the folder, if not the one that the flags name")
    parser.add_argument("--damaged", action="store_true", help="with clear: only entries that are damaged")
    given = parser.parse_args(arguments)
    named = given.folder or disk_cache.folder()
    if named is None:
        print("the cache is off: numjet_cache is '0', jax_enable_compilation_cache is false, or there is no home folder")
        return 0
    folder = Path(named)
    if not folder.is_dir():
        print(f"{folder} does not exist: nothing has been compiled yet")
        return 0
    try:
        return _ACTIONS[given.action](folder, disk_cache.entries(folder), given.damaged)
    except OSError as error:
        print(f"{folder} is not used: {error}", file=sys.stderr)
        return 2


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def _show(folder: Path, entries: list[disk_cache.Entry], damaged: bool) -> int:
    total, most = sum(e.size for e in entries), config.compilation_cache_max_size
    print(f"{folder}: {len(entries)} entries, {_megabytes(total)} of {'any number of bytes' if most < 0 else _megabytes(most)}")
    return 0


def _list(folder: Path, entries: list[disk_cache.Entry], damaged: bool) -> int:
    for e in entries:
        used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(e.used))
        print(f"{e.name}  {e.size:>10}  {used}{'' if e.whole else '  damaged'}")
    return _show(folder, entries, damaged)


def _verify(folder: Path, entries: list[disk_cache.Entry], damaged: bool) -> int:
    wrong = [e.name for e in entries if not e.whole]
    for name in wrong:
        print(f"damaged: {name}")
    print(f"{folder}: {len(entries) - len(wrong)} entries are whole, {len(wrong)} damaged")
    return 1 if wrong else 0


def _clear(folder: Path, entries: list[disk_cache.Entry], damaged: bool) -> int:
    names = [e.name for e in entries if not (damaged and e.whole)]
    disk_cache.remove(folder, names)
    print(f"{folder}: removed {len(names)} entries")
    return 0


_ACTIONS = {"show": _show, "list": _list, "verify": _verify, "clear": _clear}

if __name__ == "__main__":
    sys.exit(main())
