"""Golden-master comparison of the compiler: programs are compiled before and after a change, and their stages compared as text.

    python -m numjet.tools.replay record before/ examples/*.py
    python -m numjet.tools.replay record after/ examples/*.py
    python -m numjet.tools.replay compare before/ after/ --rename old_name=new_name

The corpus is every operation's samples, random programs with their tangents, and all programs of the given scripts. Each
stage that NUMJET_DUMP writes (jaxpr, loop IR, planned loop IR, LLVM IR) is kept, so that a move or a renaming shows that it
changed no code. The LLVM IR depends on the CPU: record both on one machine.
"""
from __future__ import annotations

import argparse
import difflib
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STAGES = (".jaxpr", ".loops", ".planned", ".ll")
GENERATED = "-m numjet.tools.replay_corpus "  # how sources that are not scripts begin
CORPUS = tuple(GENERATED + part for part in ("operations 0/2", "operations 1/2", "random 0 150", "random 150 300"))
REFUSED = "output"  # the output of a source: refused programs, and why


def record(folder: Path, scripts: Sequence[str], jobs: int = 1) -> list[str]:
    """Compiles the corpus, each source in a process of its own. Returns the sources that failed, and how."""
    sources = [*CORPUS, *scripts]
    with ThreadPoolExecutor(jobs) as pool:
        failures = pool.map(lambda s: _run(s, folder / _folder_name(s)), sources)
        return [f"{source}:\n{error}" for source, error in zip(sources, failures, strict=True) if error]


def _folder_name(source: str) -> str:
    return source.removeprefix(GENERATED).replace(" ", "_").replace("/", "_") if source.startswith("-m") else Path(source).stem


def _run(source: str, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    settings = {"NUMJET_DUMP": str(folder.resolve()), "JAX_ENABLE_COMPILATION_CACHE": "0", "NUMJET_NUM_THREADS": "2"}
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **settings, "PYTHONPATH": paths}
    words = source.split() if source.startswith("-m") else [source]
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    for other in folder.iterdir():
        if other.suffix not in STAGES:   # assembly, whose addresses differ from run to run, and the passes in between
            other.unlink()
    (folder / REFUSED).with_suffix(STAGES[0]).write_text(done.stdout)
    return f"exit status {done.returncode}: {done.stderr[-2000:]}" if done.returncode else ""


def differences(before: Path, after: Path, renames: Sequence[tuple[str, str]] = ()) -> Iterator[tuple[str, str]]:
    """The stages that differ between two recordings, with a unified diff; of a program, only the first such stage."""
    found = {k: sorted(_programs(folder)) for k, folder in (("before", before), ("after", after))}
    for name in sorted({*found["before"]} ^ {*found["after"]}):
        yield name, f"only in {before if name in found['before'] else after}"
    for name in found["before"]:
        if name in found["after"]:
            for stage in STAGES:
                diff = _diff(_text(before / (name + stage), renames), _text(after / (name + stage)))
                if diff:
                    yield name + stage, diff
                    break


def _programs(folder: Path) -> set[str]:
    """The programs of a recording, as paths below its folder without the stage."""
    return {str(p.relative_to(folder).with_suffix("")) for p in folder.glob("*/*.jaxpr")}


def _text(path: Path, renames: Sequence[tuple[str, str]] = ()) -> str:
    text = path.read_text(encoding="utf8") if path.exists() else ""
    text = re.sub(r"(?<=[ \"])/\S*/(\w+\.py)\b", r"\1", text)  # the user's file, wherever the checkout is
    for old, new in renames:
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def _diff(old: str, new: str) -> str:
    if old == new:
        return ""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", lineterm="", n=2)
    return "\n".join(itertools.islice(lines, 40))


def main(arguments: Sequence[str] | None = None) -> int:
    """Records or compares. Returns 1 if a source failed or a program differs."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.replay", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("scripts", nargs="*")
    recording.add_argument("--jobs", type=int, default=2)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="a word that was renamed")
    given = parser.parse_args(arguments)
    if given.command == "record":
        return _report_recording(given.folder, record(given.folder, given.scripts, given.jobs))
    renames = [(old, new) for old, _, new in (r.partition("=") for r in given.rename)]
    return _report_comparison(given.before, list(differences(given.before, given.after, renames)))


def _report_recording(folder: Path, failures: Sequence[str]) -> int:
    print(f"{len(_programs(folder))} programs recorded", *(f"failed: {f}" for f in failures), sep="\n")
    return 1 if failures else 0


def _report_comparison(before: Path, found: Sequence[tuple[str, str]]) -> int:
    total = len(_programs(before))
    for name, diff in found[:20]:
        print(f"{name}\n{diff}\n")
    print(f"{len(found)} of {total} programs differ")
    return 1 if found or not total else 0


if __name__ == "__main__":
    sys.exit(main())
