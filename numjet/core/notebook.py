"""HTML of programs and reports, as notebooks show them: jaxprs with colours and source lines, tables.

Text takes the colour of the notebook's theme. Hovering over a variable marks where it stands.
"""
from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

STYLE = """<style>.nj{font:13px system-ui,sans-serif;overflow-x:auto;max-width:100%}.nj p{margin:2px 0 6px}
.nj pre{font:12px/1.5 ui-monospace,monospace;margin:0;padding:4px 0;white-space:pre;background:none;color:inherit}
.nj code{font:12px ui-monospace,monospace;background:none;color:inherit}
.nj table{border-collapse:collapse;margin:2px 0 8px}.nj h4{font-size:13px;margin:8px 0 2px}
.nj td,.nj th{padding:2px 14px 2px 0;text-align:left;vertical-align:top;border:0;background:none}.nj th{font-weight:600}
.nj td.n,.nj th.n{text-align:right;font-variant-numeric:tabular-nums}.nj .t,.nj .s{opacity:.6}.nj .s{padding-left:1em}
.nj .k{color:#a05fb5}.nj .o{color:#2e8b57;font-weight:600}.nj .v{color:#3b7dd8}.nj .c{color:#b8741a}
.nj .v.on{background:#f5d76e;color:#222;border-radius:3px}.nj details{margin:4px 0}.nj summary{cursor:pointer;font-weight:600}
.nj .fate{display:inline-block;padding:0 7px;border-radius:4px;color:#222;border:1px solid}
.nj .fused{background:#dff0e6;border-color:#1f6f50}.nj .registers{background:#e6ecfa;border-color:#4a66b0}
.nj .stored{background:#fbe7cf;border-color:#b56f10}.nj .shared{background:#f3e3f4;border-color:#8a4a90}</style>"""

_SCRIPT = """<script>(function(r){const mark=(e,on)=>{const v=e.target.closest('.v');if(v)r.querySelectorAll('.v').forEach(
o=>o.classList.toggle('on',on&&o.textContent===v.textContent));};r.addEventListener('mouseover',e=>mark(e,true));
r.addEventListener('mouseout',e=>mark(e,false));})(document.currentScript.closest('.nj'))</script>"""

# The words of a program as text. Names that equations bind are followed by their types.
_WORD = re.compile(r"""(?P<s>\s\s\#\s.*$)|(?P<quoted>'(?:[^'\\]|\\.)*')|(?P<bound>\b[a-z]+|\b_)(?P<type>:[\w<>~]+\[[^\]\n]*\])
|(?P<c>(?<![\w.])-?\d[\w.+-]*)|(?P<k>\b(?:lambda|let|in)\b)|(?P<o>(?<==\s)[a-z_][\w.-]*|(?<=\n)\s+[a-z_]\w*(?=\[))
|(?P<name>\b[a-z]+\b(?!=))""", re.VERBOSE | re.MULTILINE)


def escaped(text: str) -> str:
    return html.escape(text, quote=True)


def shown(*parts: str) -> str:
    """One output of a notebook."""
    return f"<div class=nj>{STYLE}{''.join(parts)}</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: str = "") -> str:
    """A table of HTML; `right`: the columns, as digits, whose entries stand at the right."""
    kinds = [" class=n" if str(k) in right else "" for k in range(len(heads))]
    line = lambda tag, cells: "".join(f"<{tag}{kind}>{c}</{tag}>" for kind, c in zip(kinds, cells, strict=True))
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table><tr>{line('th', heads)}</tr>{body}</table>"


def folded(title: str, body: str) -> str:
    """A part that a click opens."""
    return f"<details><summary>{escaped(title)}</summary>{body}</details>"


def program(text: str) -> str:
    """A jaxpr's text, with the user's lines behind `#`, in colours; to stand within `shown`."""
    bound = {found["bound"] for found in _WORD.finditer(text) if found["bound"]}
    pieces, end = [], 0
    for found in _WORD.finditer(text):
        pieces += [escaped(text[end:found.start()]), _coloured(found, bound)]
        end = found.end()
    return f"<pre>{''.join(pieces)}{escaped(text[end:])}</pre>{_SCRIPT}"


def _coloured(found: re.Match[str], bound: set[str]) -> str:
    word, kind = found[0], found.lastgroup
    if kind == "type":
        return f"<span class=v>{escaped(found['bound'])}</span><span class=t>{escaped(found['type'])}</span>"
    if kind == "name":
        return f"<span class=v>{word}</span>" if word in bound else word
    blank = len(word) - len(word.lstrip())
    return f"{word[:blank]}<span class={'c' if kind == 'quoted' else kind}>{escaped(word[blank:])}</span>"
