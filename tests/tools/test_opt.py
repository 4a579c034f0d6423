"""tools.opt: passes over loop IR as text, from files and pipes, and what it says of wrong input."""
from __future__ import annotations

import io

import pytest

from numjet.cpu.compiler import PASSES
from numjet.cpu.ir.parser import parse
from numjet.cpu.passes.manager import FACTS, PassError
from numjet.tools import opt, show

TEXT = """\
function f(x: float32[20000]) -> (y: float32[20000]) scratch 0 {
  temp t: float32[20000]
  for i in 0 .. 20000 vector () {
    store t[i] = neg(x[i])
  } -> ()
  for j in 0 .. 20000 vector () {
    store y[j] = exp(t[j])
  } -> ()
}
"""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    status = opt.main(list(arguments))
    return status, *capsys.readouterr()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "f.loops"
    path.write_text(TEXT)
    return str(path)


def test_passes_run_in_order_and_the_result_is_printed(file, capsys):
    status, printed, _ = run(capsys, "--passes", "fusion,array_contraction", "--verify", file)
    assert status == 0 and printed == """\
# after array_contraction; facts: fused, math, serial, unplaced
function f(x: float32[20000]) -> (y: float32[20000]) scratch 0 {
  temp t: float32[20000]
  for i in 0 .. 20000 vector fused () {
    let kept1: float32 = neg(x[i])
    store y[i] = exp(kept1)
  } -> ()
}
"""


def test_what_one_run_prints_the_next_one_reads(file, capsys, monkeypatch):
    _, whole, _ = run(capsys, "--passes", "all", "--target", "avx2", file)
    text = TEXT
    for one in PASSES:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        status, text, errors = run(capsys, "--passes", one.name, "--target", "avx2", "-")
        assert (status, errors) == (0, "")
    assert parse(text).scratch_bytes == parse(whole).scratch_bytes
    assert text.replace(" scratch ", "") == whole.replace(" scratch ", "")


def test_each_pass_that_changes_something_is_printed(file, capsys):
    _, printed, _ = run(capsys, "--passes", "all", "--each", file)
    titles = [line.split(";")[0] for line in printed.splitlines() if line.startswith("# after")]
    assert titles[:4] == ["# after input", "# after fusion", "# after array_contraction", "# after legalize_math"]
    assert "# after dead_calls" not in titles


def test_the_list_names_every_pass_and_fact(capsys):
    status, printed, _ = run(capsys, "--list")
    assert status == 0 and all(f"  {name}: " in printed for name in [*FACTS, *(one.name for one in PASSES)])
    assert "requires fused, shared, unplaced; ends fused" in printed


@pytest.mark.parametrize(("passes", "change", "message"), [
    ("fuse", None, "there is no pass 'fuse'; do you mean 'fusion'? (--list names them all)"),
    ("fusion,zzz", None, "there is no pass 'zzz' (--list"),
    ("array_contraction", None, "the pass 'array_contraction' requires 'fused', but only 'math', 'serial', 'unplaced' hold"),
    ("legalize_math,fusion", None, "the pass 'fusion' requires 'math'"),
    ("memory_plan", None, "requires 'shared'"),
    ("fusion", ("neg(x[i])", "neg(q[i])"), "line 4: expected an expression, got 'q'"),
    ("fusion", ("store y", "stor y"), "line 7: expected a statement"),
    ("fusion", ("  } -> ()\n}", "}"), "line 8: expected '->'"),
    ("fusion", ("exp(t[j])", "exp(t[j], t[j])"), "line 7: expected 1 operands of 'exp', got 2"),
    ("fusion", ("exp(t", "expo(t"), "line 7: expected an operation, got 'expo'"),
    ("fusion", ("float32[20000]) ->", "float23[20000]) ->"), "line 1: expected a dtype"),
    ("fusion", ("store t[i]", "store x[i]"), "input buffer %x must not be written"),
    ("fusion", ("function", "# facts: serial, tidy\nfunction"), "there is no fact 'tidy'; facts are math, arithmetic"),
])
def test_wrong_input_is_refused_with_the_reason(file, capsys, passes, change, message):
    if change is not None:
        with open(file, "w") as out:
            out.write(TEXT.replace(*change, 1))
    status, printed, errors = run(capsys, "--passes", passes, file)
    assert (status, printed) == (2, "") and errors.startswith(f"{file}: ") and message in errors


def test_a_pass_that_breaks_a_rule_is_named_under_verify(file, capsys, monkeypatch):
    broken = opt.find_passes("fusion")[0].replace(run=lambda function, _: function.body.append(function.body[0]))
    monkeypatch.setitem(opt._KNOWN, "fusion", broken)
    assert run(capsys, "--passes", "fusion", file)[0] == 0
    status, _, errors = run(capsys, "--passes", "fusion", "--verify", file)
    assert status == 2 and "after the pass 'fusion': variable i is bound twice" in errors
    with open(file, "w") as out:
        out.write(TEXT.replace("store t[i] = neg(x[i])", "store y[i] = neg(x[i])", 1))
    assert "after the pass 'input': " in run(capsys, "--passes", "fusion", "--verify", file)[2]


def test_a_missing_file_and_missing_arguments(capsys, tmp_path):
    assert "No such file" in run(capsys, "--passes", "fusion", str(tmp_path / "none.loops"))[2]
    with pytest.raises(SystemExit):
        opt.main(["--passes", "fusion"])
    with pytest.raises(PassError, match="no pass ''"):
        opt.find_passes("")


def test_the_stages_of_a_program_can_be_run_again(capsys, monkeypatch):
    assert show.main(["lambda x: nn.softmax(x)", "f32[300,700]", "--stage", "passes"]) == 0
    stages = [f"# after {part}" for part in capsys.readouterr().out.split("# after ")[1:]]
    names = [stage.split(";")[0].removeprefix("# after ") for stage in stages]
    assert names[:3] == ["lowering", "fusion", "array_contraction"] and "memory_plan" in names
    monkeypatch.setattr("sys.stdin", io.StringIO(stages[1]))
    assert run(capsys, "--passes", "array_contraction", "-")[1].rstrip() == stages[2].rstrip()
