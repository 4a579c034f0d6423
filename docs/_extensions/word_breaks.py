"""Word breaks in tables: long names may continue on the next line behind a dot or an underscore, and at a capital.

Browsers do not break names by themselves, so that a column of them takes all the room. A `<wbr>` allows it, and leaves no trace
in what is copied or searched.
"""
from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

_NAME = re.compile(r"[\w.]{16,}")   # long enough to be broken
_PARTS = re.compile(r"(?<=[._])(?=[^._])|(?<=[a-z])(?=[A-Z])")


def pieces(text: str) -> list[str]:
    """A text, cut where a line may end within a long name."""
    cuts = [m.start() + c.start() for m in _NAME.finditer(text) for c in _PARTS.finditer(m[0])]
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def break_words(app: Sphinx, doctree: nodes.document) -> None:
    if app.builder.format != "html":
        return
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            found = pieces(text.astext())
            if len(found) > 1:
                between = [nodes.raw("", "<wbr>", format="html") for _ in found]
                text.parent.replace(text, [n for pair in zip(map(nodes.Text, found), between, strict=True) for n in pair][:-1])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", break_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
