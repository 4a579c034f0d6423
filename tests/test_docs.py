"""Pages are true: Python blocks run and print what they say, links lead somewhere, and every file, module and class that a page
names exists."""
from __future__ import annotations

import ast
import doctest
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES = [*FRONT, *sorted((ROOT / "docs").rglob("*.md"))]
# tests/test_tutorials.py runs the blocks of the one as scripts, tests/sharding those of the other with eight devices.
EXECUTED_ELSEWHERE = {"CONTRIBUTING.md", "sharding.md"}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]+)\)")

SOURCES = (".py", ".cpp", ".h")
_ANY_BLOCK = re.compile(r"^```.*?^```$|^    .*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?(\.[\w]+)?")
_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.\w+)+)(?:\(.*\))?")
_CLASS = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z]\w*)+")
_COMMAND = re.compile(r"python -m (numjet[\w.]*|benchmarks|tools[\w.]*)")
ALIASES = {"nj": "numjet", "jnp": "numjet.numpy", "lax": "numjet.lax", "hooks": "numjet.core.hooks"}
# Names that others define: packages, text formats, variables of examples.
FOREIGN = {"np", "os", "jax", "signal", "pickle", "stablehlo", "scipy", "threading", "multiprocessing", "x", "f", "op", "b"}
MADE_BY_EXAMPLES = {"program.py", "model.py"}


def place(page: Path) -> str:
    return str(page.relative_to(ROOT))


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


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in EXECUTED_ELSEWHERE and any(blocks(p))], ids=place)
def test_python_blocks_run(page):
    names: dict = {"__name__": "__page__"}
    for line, code in blocks(page):
        run_block(code, names, page, line)


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_links_lead_somewhere(page):
    missing = [link for link in _LINK.findall(page.read_text(encoding="utf8")) if not (page.parent / link).exists()]
    assert not missing


# ------------------------------------------------------------------------------------- names of files, modules and classes

@cache
def files() -> list[Path]:
    """Sources and pages of the repository."""
    folders = ("numjet", "native", "tests", "tools", "benchmarks", "examples", "docs")
    return [p for f in folders for p in sorted((ROOT / f).rglob("*")) if p.is_file() and "__pycache__" not in p.parts]


@cache
def words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf8")))


@cache
def all_words() -> set[str]:
    """Every identifier of the package and of the native core."""
    owners = ("numjet", "native")
    return set().union(*(words(p) for p in files() if p.suffix in SOURCES and p.relative_to(ROOT).parts[0] in owners))


def names_in(text: str) -> list[str]:
    """What stands in backticks outside of code blocks."""
    return _CODE.findall(_ANY_BLOCK.sub("", text))


def path_exists(name: str, page: Path) -> bool:
    """A path from the root, from the package, from the native core, or from the page; or a file's bare name."""
    roots = (ROOT, ROOT / "numjet", ROOT / "native", page.parent)
    if any(any(root.glob(name.rstrip("/"))) for root in roots):
        return True
    return "/" not in name and any(p.name == name for p in files())


def module_file(parts: list[str]) -> Path | None:
    """The file of a module of the package, or of the native core."""
    for stem in (ROOT.joinpath(*parts), ROOT.joinpath("numjet", *parts)):
        for file in (stem.with_suffix(".py"), stem / "__init__.py", stem.with_suffix(".cpp")):
            if file.exists():
                return file
    return None


def defined_in(name: str) -> list[Path]:
    """The files that define a class or struct, or modules of that name."""
    definition = re.compile(rf"^\s*(?:class|struct) {name}\b", re.MULTILINE)
    return [p for p in files() if p.suffix in SOURCES
            and (p.stem == name or name in words(p) and definition.search(p.read_text(encoding="utf8")))]


def dotted_exists(name: str) -> bool:
    """module.name, package.module.name, Class.name: the module's file, or one below the package, has the rest of the words."""
    head, *rest = name.split(".")
    parts = [*ALIASES.get(head, head).split("."), *rest]
    if head in FOREIGN:
        return True
    if "_native" in parts:
        return all_words().issuperset(parts)
    for cut in range(len(parts), 0, -1):
        file = module_file(parts[:cut])
        if file is not None:
            inside = sorted(file.parent.rglob("*.py")) if file.stem == "__init__" else [file]
            return all(any(word in words(p) for p in inside) for word in parts[cut:])
    return any(words(p).issuperset(rest) for p in defined_in(head))


def unknown_names(text: str, page: Path) -> list[str]:
    """What a page names in backticks that does not exist: paths, dotted names, class names, commands."""
    found = []
    for name in names_in(text):
        command = _COMMAND.search(name)
        if command:
            module = command[1].removesuffix(".NAME").removesuffix(".")
            ok = module_file(module.split(".")) is not None or (ROOT / module).is_dir()
        elif _PATH.fullmatch(name) and (("/" in name and name[0] != "/") or name.endswith((*SOURCES, ".md", ".yml", ".toml"))):
            ok = name in MADE_BY_EXAMPLES or path_exists(name, page)
        elif dotted := _DOTTED.fullmatch(name):
            ok = dotted[1].endswith((".png", ".json", ".loops")) or dotted_exists(dotted[1])
        elif _CLASS.fullmatch(name):
            ok = name in all_words()
        else:
            ok = True
        if not ok:
            found.append(name)
    return found


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in ("CHANGELOG.md", "ops.md")], ids=place)
def test_names_exist(page):
    missing = unknown_names(page.read_text(encoding="utf8"), page)
    assert not missing, f"{place(page)} names what does not exist (was it renamed?): {missing}"


@pytest.mark.parametrize("name", ["cpu/nowhere.py", "nowhere.cpp", "cpu.compiler.nothing", "Builder.no_such_method",
                                  "NoSuchClass", "nothing.at_all", "python -m numjet.tools.nothing"])
def test_a_wrong_name_is_noticed(name):
    assert unknown_names(f"see `{name}`", ROOT / "docs" / "page.md") == [name]


def test_every_page_is_reached_from_the_readme():
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop().resolve()
        if page not in seen:
            seen.add(page)
            links = _LINK.findall(page.read_text(encoding="utf8"))
            todo += [page.parent / link for link in links if link.endswith(".md")]
    assert set(PAGES) <= seen


def public_modules() -> list[str]:
    """The modules of the reference."""
    source = (ROOT / "docs" / "_extensions" / "api_pages.py").read_text(encoding="utf8")
    return list(ast.literal_eval(re.search(r"^MODULES = (\(.*?\))\n", source, re.MULTILINE | re.DOTALL)[1]))


def shown_by_mistake(source: str) -> bool:
    """Whether a module defines public functions, but does not say which: the reference would show what it imports, too."""
    body = ast.parse(source).body
    defines = any(isinstance(x, ast.FunctionDef | ast.ClassDef) and not x.name.startswith("_") for x in body)
    imports = any(isinstance(x, ast.ImportFrom) and x.module != "__future__" for x in body)
    return defines and imports and "\n__all__" not in source


@pytest.mark.parametrize("module", public_modules())
def test_the_reference_shows_public_names_only(module):
    assert not shown_by_mistake(Path(importlib.util.find_spec(module).origin).read_text(encoding="utf8"))


# ------------------------------------------------------------------------------------- the checks themselves

def test_names_shown_by_mistake_are_noticed():
    assert shown_by_mistake("from os import path\n\ndef f(): ...") and not shown_by_mistake("from os import path\nf = path")


def test_the_readme_command_is_what_the_forge_runs():
    readme, forge = ((ROOT / p).read_text(encoding="utf8") for p in ("README.md", ".github/workflows/ci.yml"))
    install, test = re.search(r"^    (pip install .*) && (python -m pytest .*)$", readme, re.MULTILINE).groups()
    script = (ROOT / ".ci" / "run").read_text(encoding="utf8")
    assert "run: .ci/run" in forge and install.split()[-1] in script and test in script


def test_the_first_page_has_code_that_runs():
    assert list(blocks(PAGES[0]))


def test_the_readme_s_times_are_those_of_the_benchmarks():
    cells = lambda row: [cell.strip() for cell in row.strip().strip("|").split("|")]
    measured = {row[1]: row[2:4] for line in (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf8").splitlines()
                if line.startswith("|") and len(row := cells(line)) > 4}
    text = (ROOT / "README.md").read_text(encoding="utf8")
    shown = [cells(line) for line in re.search(r"\| numjet \| JAX \|\n\|.*?\n(.*?)\n\n", text, re.DOTALL)[1].splitlines()]
    assert len(shown) >= 3 and all(measured[name] == times for name, *times in shown)


def test_a_wrong_page_is_noticed():
    with pytest.raises(AssertionError, match="Got"):
        run_block(">>> 1 + 1\n3\n", {}, PAGES[0], 0)
