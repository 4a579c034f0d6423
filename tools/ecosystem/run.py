#!/usr/bin/env python3
"""Runs libraries' own tests on numjet under JAX's name, and on JAX, and compares.

    python tools/ecosystem/run.py optax chex --work FOLDER          # both sides; a table
    python tools/ecosystem/run.py equinox --work FOLDER --side numjet -- -k jit
    python tools/ecosystem/run.py --work FOLDER --table docs/jax-users.md

Environments, sources and outcomes stay in the folder: FOLDER/NAME.numjet.tsv and FOLDER/NAME.jax.tsv have a line for each
test. A run with arguments for pytest, after --, replaces the outcomes of the tests it selects. --table writes the table of
all outcomes in the folder between the two lines <!-- ecosystem --> of a page.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path

import environments

ROOT = Path(__file__).resolve().parents[2]
MOST_CRASHES = 50
OPTIONS = ["-q", "-c", "pyproject.toml", "-p", "outcomes", "-p", "no:cacheprovider", "--tb=short", "--no-header",
           "--continue-on-collection-errors"]
PART = re.compile(r"(<!-- ecosystem -->\n).*(<!-- ecosystem -->)", re.DOTALL)


def outcomes(file: Path) -> dict[str, tuple[str, str]]:
    """Outcome and message by test; a test that started and did not end has crashed the process."""
    found: dict[str, tuple[str, str]] = {}
    for line in file.read_text(encoding="utf8").splitlines() if file.exists() else ():
        test, outcome, message = line.split("\t")
        if outcome == "started":
            outcome, message = "failed", "crashed"
        elif found.get(test, ("", "crashed"))[1] != "crashed" and found[test][0] == "failed":
            continue  # an error of its cleanup does not hide a failure
        found[test] = outcome, message
    return found


def run(work: Path, name: str, side: str, extra: list[str]) -> None:
    """Runs the tests of a library on one side; goes on behind the test that crashed the process, if one did."""
    row = environments.libraries()[name]
    environments.prepare(work, side, row, name)
    folder = environments.source(work, name, row)
    file, done = work / f"{name}.{side}.tsv", work / f"{name}.{side}.done"
    before = outcomes(file) if extra else {}
    file.unlink(missing_ok=True)
    variables = {**os.environ, "ECOSYSTEM_OUTCOMES": str(file), "ECOSYSTEM_DONE": str(done), "OMP_NUM_THREADS": "1",
                 "PYTHONPATH": os.pathsep.join(map(str, [environments.HERE, *([ROOT] if side == "numjet" else [])]))}
    alias = ["-m", "numjet.as_jax"] if side == "numjet" else []
    for _ in range(MOST_CRASHES):
        seen = outcomes(file)
        done.write_text("\n".join(seen), encoding="utf8")
        command = [environments.python(work, side), *alias, "-m", "pytest", *OPTIONS, *row["options"], *extra]
        code = subprocess.run(command, cwd=folder, env=variables).returncode
        if 0 <= code <= 5 or len(outcomes(file)) == len(seen):
            break
    merged = {**before, **outcomes(file)}
    file.write_text("".join(f"{test}\t{outcome}\t{message}\n" for test, (outcome, message) in merged.items()), encoding="utf8")


def compare(work: Path, name: str) -> tuple[int, int, list[tuple[str, str]]]:
    """How many tests pass on JAX, how many of these on numjet, and the others with their messages."""
    there, here = (outcomes(work / f"{name}.{side}.tsv") for side in ("jax", "numjet"))
    attained = [test for test, (outcome, _) in there.items() if outcome == "passed"]
    lost = [(test, here.get(test, ("", "not collected"))[1]) for test in attained if here.get(test, ("", ""))[0] != "passed"]
    return len(attained), len(attained) - len(lost), lost


def table(work: Path) -> str:
    """The table of all libraries that were run on both sides."""
    lines = ["| library | release | tests that pass on JAX | of these on numjet |", "|---|---|---:|---:|"]
    for name, row in environments.libraries().items():
        if all((work / f"{name}.{side}.tsv").exists() for side in environments.SIDES):
            attained, passed, _ = compare(work, name)
            lines.append(f"| {name} | {row['version']} | {attained:,} | {passed:,} ({passed / max(attained, 1):.1%}) |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", help="names in libraries.toml")
    parser.add_argument("--work", type=Path, required=True, help="folder for environments, sources and outcomes")
    parser.add_argument("--side", choices=environments.SIDES, help="run on one side only")
    parser.add_argument("--table", type=Path, help="the page that gets the table")
    arguments, extra = parser.parse_known_args()
    work = arguments.work.resolve()
    (work / "sdists").mkdir(parents=True, exist_ok=True)
    for name in arguments.libraries:
        for side in [arguments.side] if arguments.side else environments.SIDES:
            run(work, name, side, [e for e in extra if e != "--"])
        for test, message in compare(work, name)[2]:
            print(f"{name}: {test}: {message}")
    text = table(work)
    print(text)
    if arguments.table is not None:
        page = arguments.table.read_text(encoding="utf8")
        arguments.table.write_text(PART.sub(lambda found: f"{found[1]}{text}{found[2]}", page), encoding="utf8")


if __name__ == "__main__":
    main()
