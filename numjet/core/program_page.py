"""A page that shows a program: its equations as a graph, what the compiler made of each, its loops, buffers and source lines.

One HTML file without anything from elsewhere: the graph is SVG, and a small script pans, zooms, searches and highlights.
"""
from __future__ import annotations

import html
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from numjet.core.compile_report import CompileReport, Location, Loop
from numjet.core.program_graph import MARGIN, TITLE, Drawing, Node
from numjet.foundation.record import Record

_STYLE = """
.nj-program{font:14px system-ui,sans-serif;color:#222;background:#fff;display:flex;height:100%;min-height:420px}
.nj-program .graph{flex:1;overflow:hidden;position:relative;background:#f7f7f4;cursor:grab}
.nj-program svg{width:100%;height:100%;display:block}
.nj-program .side{width:340px;overflow:auto;padding:10px 14px;border-left:1px solid #ddd;box-sizing:border-box}
.nj-program h1{font-size:17px;margin:0 0 6px}.nj-program h2{font-size:14px;margin:14px 0 4px}
.nj-program input{width:100%;box-sizing:border-box;font:inherit;padding:5px 8px;border:1px solid #bbb;border-radius:5px}
.nj-program .row{padding:3px 4px;border-radius:4px;cursor:default;overflow-wrap:anywhere}
.nj-program .row:hover{background:#e4f1ea}.nj-program .row code{font-size:12px}
.nj-program .what{min-height:96px;background:#f4f4f0;border-radius:5px;padding:6px 8px;white-space:pre-wrap;
overflow-wrap:anywhere}
.nj-program .key span{display:inline-block;padding:1px 8px;margin:2px 4px 2px 0;border-radius:4px;border:1px solid #999}
.nj-program rect.box{fill:#fff;stroke:#888;rx:6}.nj-program rect.frame{fill:#fbfbf8;stroke:#bbb;stroke-dasharray:4 3;rx:8}
.nj-program .fused rect.box,.nj-program .key .fused{fill:#dff0e6;background:#dff0e6;stroke:#1f6f50}
.nj-program .registers rect.box,.nj-program .key .registers{fill:#e6ecfa;background:#e6ecfa;stroke:#4a66b0}
.nj-program .stored rect.box,.nj-program .key .stored{fill:#fbe7cf;background:#fbe7cf;stroke:#b56f10}
.nj-program .shared rect.box,.nj-program .key .shared{fill:#f3e3f4;background:#f3e3f4;stroke:#8a4a90}
.nj-program .input rect.box,.nj-program .output rect.box,.nj-program .constant rect.box{fill:#eee;stroke:#777}
.nj-program path{fill:none;stroke:#9a9a90;stroke-width:1.3}.nj-program path.on{stroke:#c0392b;stroke-width:2.4}
.nj-program text{font:12px ui-monospace,monospace;fill:#222}.nj-program text.type{fill:#777}
.nj-program text.title{font:12px system-ui,sans-serif;fill:#666}
.nj-program .dim .node:not(.lit)>rect.box,.nj-program .dim .node:not(.lit)>text{opacity:.25}
.nj-program .lit>rect.box{stroke-width:3}
@media(max-width:700px){.nj-program{flex-direction:column}.nj-program .side{width:100%;max-height:45%;border:0;
border-top:1px solid #ddd}.nj-program .graph{min-height:280px}}
"""

# Pan by dragging, zoom by the wheel or two fingers, highlight by hovering and by the search box.
_SCRIPT = """
(function(root){
const svg=root.querySelector('svg'),graph=root.querySelector('.graph'),what=root.querySelector('.what');
const info=JSON.parse(root.querySelector('script[type="application/json"]').textContent);
let [x,y,w,h]=svg.getAttribute('viewBox').split(' ').map(Number);
const show=()=>svg.setAttribute('viewBox',[x,y,w,h].join(' '));
const fit=()=>{const b=graph.getBoundingClientRect();if(b.width&&b.height){const s=Math.max(w/b.width,h/b.height,.6);
 x-=(b.width*s-w)/2;if(h<b.height*s)y-=(b.height*s-h)/2;w=b.width*s;h=b.height*s;show();}};
fit();
const zoom=(f,cx,cy)=>{const b=graph.getBoundingClientRect(),px=x+(cx-b.left)/b.width*w,py=y+(cy-b.top)/b.height*h;
 x=px-(px-x)*f;y=py-(py-y)*f;w*=f;h*=f;show();};
graph.addEventListener('wheel',e=>{e.preventDefault();zoom(Math.exp(e.deltaY/500),e.clientX,e.clientY);},{passive:false});
const held=new Map();
graph.addEventListener('pointerdown',e=>{held.set(e.pointerId,e);graph.setPointerCapture(e.pointerId);});
for(const end of['pointerup','pointercancel'])graph.addEventListener(end,e=>held.delete(e.pointerId));
graph.addEventListener('pointermove',e=>{const before=held.get(e.pointerId);if(!before){return;}
 const b=graph.getBoundingClientRect(),others=[...held.values()].filter(o=>o.pointerId!==e.pointerId);
 if(others.length){const o=others[0],d=p=>Math.hypot(p.clientX-o.clientX,p.clientY-o.clientY);
  zoom(d(before)/Math.max(d(e),1),o.clientX,o.clientY);}
 else{x-=(e.clientX-before.clientX)/b.width*w;y-=(e.clientY-before.clientY)/b.height*h;show();}
 held.set(e.pointerId,e);});
const node=k=>root.querySelector('[data-key="'+k+'"]');
const clear=()=>{svg.classList.remove('dim');root.querySelectorAll('.lit,.on').forEach(n=>n.classList.remove('lit','on'));};
const light=keys=>{clear();if(keys.length)svg.classList.add('dim');
 keys.forEach(k=>{const n=node(k);if(n)n.classList.add('lit');});};
svg.addEventListener('pointerover',e=>{const n=e.target.closest('.node');if(!n||held.size)return;clear();
 what.textContent=info[n.dataset.key]||'';
 root.querySelectorAll('path[data-from="'+n.dataset.key+'"],path[data-to="'+n.dataset.key+'"]').forEach(p=>p.classList.add('on'));});
root.querySelectorAll('.row[data-keys]').forEach(r=>{const keys=r.dataset.keys.split(' ').filter(Boolean);
 r.addEventListener('mouseenter',()=>light(keys));r.addEventListener('mouseleave',clear);
 r.addEventListener('click',()=>{const n=keys.length&&node(keys[0]);if(n){const b=n.getBBox(),m=n.getCTM(),o=svg.getCTM();
  x=b.x+(m.e-o.e)/o.a-w/2+b.width/2;y=b.y+(m.f-o.f)/o.d-h/2+b.height/2;show();}});});
root.querySelector('input').addEventListener('input',e=>{const t=e.target.value.toLowerCase();
 light(t?Object.keys(info).filter(k=>info[k].toLowerCase().includes(t)):[]);});
})(document.currentScript.closest('.nj-program'));
"""


class ProgramPage(Record):
    """What nj.visualize returns: shown by notebooks, saved as a page of HTML.

    drawing: the graph. report: the decisions of the compiler, as nj.explain gives them.
    """
    name: str
    drawing: Drawing
    report: CompileReport

    def save(self, path: str | Path) -> None:
        """Writes the page. Raises ValueError for names that don't end in .html."""
        path = Path(path)
        if path.suffix != ".html":
            raise ValueError(f"programs are saved as .html, got {str(path)!r}")
        path.write_text(self.html(), encoding="utf8")

    def html(self) -> str:
        """A page of its own."""
        return ("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
                f"<title>{html.escape(self.name)}</title><body style='margin:0;height:100vh'>{_body(self)}</body></html>")

    def _repr_html_(self) -> str:
        return f"<div style='height:560px'>{_body(self)}</div>"

    def __repr__(self) -> str:
        return f"<program {self.name}: {sum(1 for _ in self.drawing.all_nodes())} boxes; save('program.html') writes a page>"


def _body(page: ProgramPage) -> str:
    drawing = page.drawing
    nodes = {n.key: n for n in drawing.all_nodes()}
    info = json.dumps({str(k): about(n) for k, n in nodes.items()}).replace("</", "<\\/")
    graph = (f"<svg viewBox='0 0 {drawing.width:.0f} {drawing.height:.0f}' role=img aria-label='{_text(page.name)}'>"
             f"{''.join(_drawing(drawing))}</svg>")
    side = f"<div class=side>{_side(page, nodes)}</div>"
    return (f"<div class=nj-program><style>{_STYLE}</style><div class=graph>{graph}</div>{side}"
            f"<script type='application/json'>{info}</script><script>{_SCRIPT}</script></div>")


def _text(text: str) -> str:
    return html.escape(text, quote=True)


def about(node: Node) -> str:
    """What the page says of a node that the mouse is on."""
    lines = [*node.text]
    if node.fate:
        lines.append(f"{node.fate}: {node.why}")
    if node.location.file is not None:
        lines.append(f"{node.location}  {node.location.text}")
    return "\n".join(lines)


def _drawing(drawing: Drawing) -> Iterator[str]:
    """SVG of a program: the edges first, so that boxes lie above them."""
    yield f"<text class=title x={MARGIN} y={TITLE - 8}>{_text(drawing.title)}</text>"
    places = {node.key: node for node in drawing.nodes}
    for source, target in drawing.edges:
        yield _edge(places[source], places[target])
    for node in drawing.nodes:
        yield from _node(node)


def _edge(a: Node, b: Node) -> str:
    x1, y1, x2, y2 = a.x + a.width / 2, a.y + a.height, b.x + b.width / 2, b.y
    bend = (y2 - y1) / 2
    return (f"<path data-from={a.key} data-to={b.key} d='M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} "
            f"{x2:.0f} {y2:.0f}'/>")


def _node(node: Node) -> Iterator[str]:
    kind = node.fate or node.kind
    yield (f"<g class='node {kind}' data-key={node.key} transform='translate({node.x:.0f} {node.y:.0f})'>"
           f"<rect class=box width={node.width:.0f} height={node.height:.0f} />")
    for k, line in enumerate(node.text):
        yield f"<text x={MARGIN} y={16 + 16 * k}{' class=type' if k else ''}>{_text(line)}</text>"
    x = float(MARGIN)
    for inner in node.inside:
        yield (f"<g transform='translate({x:.0f} {TITLE + 16})'>"
               f"<rect class=frame width={inner.width:.0f} height={inner.height:.0f} />")
        yield from _drawing(inner)
        yield "</g>"
        x += inner.width + MARGIN
    yield "</g>"


def _side(page: ProgramPage, nodes: dict[int, Node]) -> str:
    report = page.report
    by_line: defaultdict[Location, list[int]] = defaultdict(list)
    for node in nodes.values():
        if node.location.file is not None:
            by_line[node.location].append(node.key)
    first = str(report).split("\n")[0]
    lines = sorted(by_line, key=lambda at: (str(at.file), at.line))
    sections = (
        ("Source lines", [(by_line[at], f"<b>{_text(str(at))}</b> <code>{_text(at.text)}</code>") for at in lines]),
        ("Loops", [(_of_loop(loop, nodes.values()), _text(str(loop))) for loop in report.all_loops()]),
        ("Warnings", [(by_line[c.location], _text(f"{c.location}  {c}")) for c in report.warnings]),
        ("Library calls", [(by_line[c.location], _text(f"{c.location}  {c}")) for c in report.calls]),
        ("Copies", [(by_line[c.location], _text(f"{c.location}  {c}")) for c in report.copies]),
        ("Buffers", [(by_line[a.location], _text(f"{a.location}  {a}")) for a in report.allocations]))
    key = "".join(f"<span class={fate}>{fate}</span>" for fate in ("fused", "registers", "stored", "shared"))
    return (f"<h1>{_text(page.name)}</h1><input type=search placeholder='Search names, types, lines' aria-label=Search>"
            f"<p>{_text(first)}</p><div class=key>{key}</div><h2>Under the mouse</h2><div class=what></div>"
            + "".join(_section(title, rows) for title, rows in sections if rows))


def _section(title: str, rows: Sequence[tuple[Sequence[int], str]]) -> str:
    items = "".join(f"<div class=row data-keys='{' '.join(map(str, keys))}'>{text}</div>" for keys, text in rows)
    return f"<h2>{title}</h2>{items}"


def _of_loop(loop: Loop, nodes: Iterable[Node]) -> list[int]:
    """The boxes whose operations a loop computes, by name and line."""
    names = {*loop.writes, *loop.fuses}
    return [n.key for n in nodes if n.name in names and n.location in loop.locations]
