"""The Python blocks of the README and of docs/ run, and print what they say."""
from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]+)\)")


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """(line, code) of every Python block."""
    text = page.read_text(encoding="utf8")
    for found in _BLOCK.finditer(text):
        yield text.count("\n", 0, found.start(1)), found[1]


def run_block(code: str, names: dict, page: Path, line: int) -> None:
    """Runs a block; one with prompts must print what stands there."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), line)
    test.globs = names
    report: list[str] = []
    failed = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False).failed
    assert failed == 0, "".join(report)


@pytest.mark.parametrize("page", [p for p in PAGES if any(blocks(p))], ids=lambda p: p.name)
def test_python_blocks_run(page):
    names: dict = {"__name__": "__page__"}
    for line, code in blocks(page):
        run_block(code, names, page, line)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    missing = [link for link in _LINK.findall(page.read_text(encoding="utf8")) if not (page.parent / link).exists()]
    assert not missing


def test_the_first_page_has_code_that_runs():
    assert list(blocks(PAGES[0]))


def test_a_wrong_page_is_noticed():
    with pytest.raises(AssertionError, match="Got"):
        run_block(">>> 1 + 1\n3\n", {}, PAGES[0], 0)
