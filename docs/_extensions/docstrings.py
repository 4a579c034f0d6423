"""Docstrings as reStructuredText: single backticks become code, stars in prose stay stars, indented blocks stay as they are.

The docstrings of the package are plain text with Markdown's backticks. Sphinx's napoleon reads their sections (Args, Returns,
Raises); what is left for this extension is prose that reStructuredText would take for markup.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from sphinx.application import Sphinx

SECTIONS = ("Args:", "Returns:", "Raises:", "Yields:", "Attributes:", "Notes:", "References:")
_CODE = re.compile(r"(`+)([^`]+)\1")
_MARKUP = re.compile(r"([*|\\])|(?<=\w)_(?!\w)")


def prose(line: str) -> str:
    """A line of text, in which only backticks are markup."""
    parts, end = [], 0
    for found in _CODE.finditer(line):
        parts.append(escaped(line[end:found.start()]))
        parts.append(f"``{found[2].strip()}``\\ " if followed_by_word(line, found.end()) else f"``{found[2].strip()}``")
        end = found.end()
    return "".join((*parts, escaped(line[end:])))


def escaped(text: str) -> str:
    return _MARKUP.sub(lambda m: "\\" + m[0], text)


def followed_by_word(line: str, at: int) -> bool:
    return line[at:at + 1].isalnum()


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines without an empty one."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.expandtabs())
        elif block:
            yield block
            block = []


def converted(lines: list[str]) -> list[str]:
    """The docstring's blocks: prompts and indented blocks as code, sections and paragraphs as prose."""
    result: list[str] = []
    section = False
    for block in blocks(lines):
        depth = min(map(indent_of, block))
        if ">>>" in block[0]:
            section = False
            result += [line[depth:] for line in block]
        elif depth and not section:
            result += ["::", "", *("    " + line[depth:] for line in block)]
        else:
            result += list(with_sections(block))
            section = any(line.strip() in SECTIONS for line in block) or section and depth > 0
        result.append("")
    return result


def with_sections(block: list[str]) -> Iterator[str]:
    """Prose in which an empty line precedes every section's title, as napoleon wants it, and items continue at one depth."""
    item = None   # depth of the items below a section's title
    for k, line in enumerate(block):
        if line.strip() in SECTIONS:
            item = indent_of(block[k + 1]) if k + 1 < len(block) else None
            if k:
                yield ""
        elif item is not None and indent_of(line) > item:
            line = " " * (item + 2) + line.lstrip()
        yield prose(line)


def process(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = converted(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
