"""Pages of errors on the terminal: what a class of `numjet.errors` means, an example, what its message says, and the remedies.

    python -m numjet error                            the classes
    python -m numjet error TracerBoolConversionError  the page that the documentation has about it

The pages are files of docs/errors. An installation has copies of them beside this module.
"""
from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALLED, CHECKOUT = HERE / "error_pages", HERE.parents[1] / "docs" / "errors"


def pages() -> dict[str, Path]:
    """The file of each class; those of the checkout if there is one."""
    folder = CHECKOUT if CHECKOUT.is_dir() else INSTALLED
    return {page.stem: page for page in sorted(folder.glob("*.md"))}


def summary(text: str) -> str:
    """The first sentence below a page's heading."""
    return " ".join(text.split("\n\n")[1].split()).split(". ")[0].split(": ")[0].rstrip(".")


def listing(found: dict[str, Path]) -> str:
    width = max(map(len, found)) + 2
    return "\n".join(f"{name:{width}}{summary(page.read_text(encoding='utf8'))}" for name, page in found.items())


def main(arguments: Sequence[str]) -> int:
    """Prints the page of the class that is named, or the list of classes; 2 for a name that is none."""
    reader = argparse.ArgumentParser(prog="python -m numjet error", description=(__doc__ or "").split("\n")[0])
    reader.add_argument("name", nargs="?", help="a class of numjet.errors; without one, the list of classes")
    name, found = reader.parse_args(arguments).name, pages()
    if not found:
        print(f"This installation has no pages of errors: {INSTALLED} is missing. Install numjet again.", file=sys.stderr)
        return 1
    if name is None:
        print(listing(found))
        return 0
    page = found.get(name.rpartition(".")[2])
    if page is None:
        near = difflib.get_close_matches(name, found, n=1)
        print(f"There is no page about {name!r}." + (f" Did you mean {near[0]}?" if near else ""), file=sys.stderr)
        print(listing(found), file=sys.stderr)
        return 2
    print(page.read_text(encoding="utf8").rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
