import re
import traceback
import warnings

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.walk import eval_jaxpr
from numjet.foundation import source
from numjet.foundation.config import traceback_filtering
from numjet.transforms.simplify import simplify

# Stands for code of the package: compiled under one of its file names.
INTERNAL = compile(
    """
def call(function, depth=0):
    return function() if depth == 0 else call(function, depth - 1)

def fail():
    raise ValueError("inside")

def warn():
    warnings.warn("careful", UserWarning, stacklevel=source.user_stacklevel())
""",
    source._PACKAGE + "made_up.py",
    "exec",
)
internal = {"warnings": warnings, "source": source}
exec(INTERNAL, internal)


def here():
    return traceback.extract_stack(limit=2)[0].lineno


def test_user_frame_is_this_line():
    frame, line = source.user_frame(), here()
    assert frame.file == __file__ and frame.line == line
    assert frame.function.endswith("test_user_frame_is_this_line")
    assert source.summarize(frame) == f"test_source.py:{line} (test_user_frame_is_this_line)"
    assert frame.column == 18


def test_internal_frames_are_skipped():
    frame, line = internal["call"](source.user_frame, depth=8), here()
    assert frame.file == __file__ and frame.line == line


def test_the_line_is_the_one_that_ran_when_looking():
    frames = []
    for _ in range(2):
        frames.append(source.user_frame())
    later = source.user_frame()
    assert frames[0] == frames[1] and hash(frames[0]) == hash(frames[1])
    assert later != frames[0] and later.line == frames[0].line + 1


def test_user_frames_are_innermost_first():
    def inner():
        return source.user_frames()

    frames = internal["call"](inner)
    assert [frame.function.split(".")[-1] for frame in frames[:2]] == ["inner", "test_user_frames_are_innermost_first"]
    assert internal["call"](lambda: len(source.user_frames(limit=1))) == 1


def test_no_user_frame_is_said_so():
    assert source.summarize(None) == "<unknown>"
    assert str(source.UNKNOWN) == "<unknown>"


def test_warnings_point_at_the_user():
    with pytest.warns(UserWarning, match="careful") as seen:
        internal["call"](internal["warn"], depth=3)
    assert seen[0].filename == __file__


def test_hide_makes_other_folders_internal(monkeypatch):
    monkeypatch.setattr(source, "hidden_prefixes", type(source.hidden_prefixes)(source.hidden_prefixes))
    code = compile("def call(function): return function()", "/somewhere/lib/file.py", "exec")
    space: dict = {}
    exec(code, space)
    try:
        assert space["call"](source.user_frame).file == "/somewhere/lib/file.py"
        source.hide("/somewhere/lib")
        assert space["call"](source.user_frame).file == __file__
    finally:
        source._hidden.clear()


def test_of_function():
    def f():
        pass

    line = f.__code__.co_firstlineno
    assert source.of_function(f) == f"f at test_source.py:{line}"
    assert source.of_function(source.functools.partial(f)) == f"f at test_source.py:{line}"
    assert source.of_function(source.api_boundary(f)) == f"f at test_source.py:{line}"
    assert source.of_function(len) == "len"


def test_scopes_nest():
    assert source.name_stack() == ()
    with source.named_scope("a"), source.named_scope("b"):
        assert source.name_stack() == ("a", "b")
        where = source.current()
    assert source.name_stack() == ()
    assert where.names == ("a", "b") and where.frame.file == __file__
    assert "a/b" in repr(where) and str(where).startswith("test_source.py:")

    @source.named_scope("c")
    def inside():
        return source.name_stack()

    assert inside() == ("c",)
    with pytest.raises(TypeError, match="3 of type int"):
        source.named_scope(3)


def files(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def boundary(mode):
    call = source.api_boundary(lambda: internal["call"](internal["fail"], depth=5))
    with traceback_filtering(mode):
        try:
            call()
        except ValueError as error:
            return error
    raise AssertionError("no error")


def test_filtering_removes_internal_frames():
    shown = files(boundary("quiet_remove_frames"))
    assert not any("made_up" in file for file in shown)
    assert shown[0] == __file__ and shown[-1] == __file__
    assert not any(file.endswith("source.py") for file in shown if file != __file__)


def test_an_error_of_the_package_s_own_ends_at_the_user_s_call():
    with traceback_filtering("quiet_remove_frames"):
        try:
            source.api_boundary(internal["fail"])()
        except ValueError as error:
            assert files(error) == [__file__]


def test_quiet_filtering_says_so_once():
    error = boundary("quiet_remove_frames")
    assert [note.count("For simplicity") for note in error.__notes__] == [1]
    assert not hasattr(boundary("off"), "__notes__")


def test_filtering_reaches_the_error_s_cause():
    def chained():
        try:
            internal["fail"]()
        except ValueError as error:
            raise KeyError("outer") from error

    with traceback_filtering("quiet_remove_frames"):
        try:
            source.api_boundary(lambda: internal["call"](chained, depth=2))()
        except KeyError as error:
            assert not any("made_up" in file for file in files(error) + files(error.__cause__))
            assert isinstance(error.__cause__, ValueError)


def test_filtering_off_keeps_all():
    error = boundary("off")
    assert sum("made_up" in file for file in files(error)) == 7
    assert error.__cause__ is None


def test_remove_frames_keeps_the_full_traceback_as_cause():
    error = boundary("remove_frames")
    assert not any("made_up" in file for file in files(error))
    assert isinstance(error.__cause__, source.UnfilteredStackTrace)
    assert sum("made_up" in file for file in files(error.__cause__)) == 7


def test_tracebackhide_marks_frames():
    error = boundary("tracebackhide")
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    marked = [frame.f_code.co_name for frame in frames if "__tracebackhide__" in frame.f_locals]
    assert marked.count("call") == 6 and "fail" in marked


def test_boundary_passes_results_and_names_through():
    @source.api_boundary
    def f(x, *, y=1):
        "Doc."
        return x + y

    assert f(1, y=2) == 3 and f.__name__ == "f" and f.__doc__ == "Doc."


def test_equations_applied_again_keep_their_lines():
    line = here() + 1
    plain = nj.jit(lambda x: jnp.sum(jnp.sin(x)))

    def lines(fun):
        closed = simplify(nj.make_jaxpr(fun)(jnp.ones(3)))
        return {eqn.source.line for eqn in closed.jaxpr.eqns}
    assert lines(nj.grad(plain)) == lines(nj.grad(nj.jit(plain))) == lines(nj.vmap(nj.jit(plain))) == {line}


def test_rules_of_the_user_have_their_own_lines():
    @nj.custom_vjp
    def double(x):
        return x * 2
    line = here() + 1
    double.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * 2,))
    closed = simplify(nj.make_jaxpr(nj.grad(nj.jit(lambda x: jnp.sum(double(x)))))(jnp.ones(3)))
    assert {eqn.source.line for eqn in closed.jaxpr.eqns if eqn.primitive.name == "mul"} == {line}


def test_equations_have_the_names_of_the_scopes_around_them():
    """Those inside of a traced function only: its trace is shared by callers in other scopes."""
    def f(x):
        with nj.named_scope("a"), nj.named_scope("b"):
            return nj.jit(lambda y: jnp.cos(y))(jnp.sin(x))

    with nj.named_scope("around"):
        eqns = nj.make_jaxpr(f)(1.0).eqns
    assert [str(eqn.source_info.name_stack) for eqn in eqns] == ["a/b", "a/b"]
    assert str(eqns[1].params["jaxpr"].eqns[0].source_info.name_stack) == ""
    assert {str(eqn.source_info.name_stack) for eqn in nj.make_jaxpr(nj.grad(f))(1.0).eqns} == {
        "jvp(a)/b", "transpose(jvp(a))/b"}
    assert str(nj.make_jaxpr(jnp.sin)(1.0).eqns[0].source_info.name_stack) == ""


def stacks(fun, *args):
    return [str(eqn.source_info.name_stack) for eqn in nj.make_jaxpr(fun)(*args).eqns]


def test_transformations_are_written_around_the_names_of_scopes():
    def f(x):
        with nj.named_scope("foo"):
            return jnp.sin(x) * 2

    inside = nj.jit(f)
    assert set(stacks(nj.vmap(f), jnp.ones(2))) == {"vmap(foo)"}
    assert set(stacks(nj.grad(f), 1.0)) == {"jvp(foo)", "transpose(jvp(foo))"}
    assert set(stacks(nj.vmap(nj.grad(f)), jnp.ones(2))) == {"vmap(jvp(foo))", "vmap(transpose(jvp(foo)))"}
    assert set(stacks(lambda x: nj.jvp(nj.vmap(f), (x,), (x,)), jnp.ones(2))) == {"jvp(vmap(foo))"}
    assert set(stacks(lambda x: nj.linear_transpose(lambda y: 2 * y, x)(x), 1.0)) == {"transpose()"}
    program = nj.make_jaxpr(nj.grad(inside))(1.0)
    assert [str(e.source_info.name_stack) for e in program.eqns] == ["jvp()", "transpose(jvp())"]
    for call in program.eqns:  # what a call holds does not know of the transformations around it
        assert {str(e.source_info.name_stack) for e in call.params["jaxpr"].eqns} == {"foo"}


def test_a_pullback_is_in_the_scopes_where_it_is_called():
    def f(x):
        with nj.named_scope("before"):
            _, pull = nj.vjp(jnp.sin, x)
        with nj.named_scope("later"):
            return pull(1.0)

    assert stacks(f, 1.0)[-1] == "later/transpose(jvp())"

    def pushed(x):
        with nj.named_scope("before"):
            _, push = nj.linearize(jnp.sin, x)
        with nj.named_scope("later"):
            return push(x)

    assert stacks(pushed, 1.0)[-1] == "later/jvp()"


def test_lowered_text_has_the_names_of_scopes_calls_and_loops():
    @nj.jit
    def inner(x):
        with nj.named_scope("bar"):
            return jnp.tan(x)

    def f(x):
        with nj.named_scope("foo"):
            x = lax.scan(lambda c, _: (jnp.sinh(c), None), inner(x), None, length=3)[0]
            x = lax.cond(x > 0, lambda x: jnp.cosh(x), lambda x: x - 1, x)
            return lax.while_loop(lambda c: c < 3, lambda c: c * 2, x)

    def paths(fun):
        return set(re.findall(r'loc\("([^"]*)"\("', nj.jit(fun).lower(1.0).as_text(debug_info=True)))

    assert paths(f) >= {"jit(f)/foo/jit(inner)/bar/tan", "jit(f)/foo/while/body/closed_call/sinh", "jit(f)/foo/while/body/mul",
                        "jit(f)/foo/cond/branch_1_fun/cosh", "jit(f)/foo/cond/branch_0_fun/sub", "jit(f)/foo/while/cond/lt"}
    assert "jit(<lambda>)/transpose(jvp(jit(inner)))/bar/mul" in paths(lambda x: nj.vjp(inner, x)[1](x))
    assert "jit(<lambda>)/vmap(jit(inner))/bar/tan" in paths(lambda x: nj.vmap(inner)(jnp.stack([x, x])))
    pytest.importorskip("jaxlib")
    assert 'op_name="jit(f)/foo/jit(inner)/bar/tan"' in nj.jit(f).lower(1.0).as_text("hlo", debug_info=True)


def test_replayed_programs_are_in_the_scopes_around():
    program = nj.make_jaxpr(nj.named_call(jnp.sin, name="inner"))(1.0)

    def f(x):
        with nj.named_scope("outer"):
            return eval_jaxpr(program.jaxpr, program.consts, x)

    assert stacks(f, 1.0) == ["outer/inner"]


def test_scopes_have_text_as_names():
    with pytest.raises(TypeError, match="named_scope name argument must be a string, got 3"):
        source.named_scope(3)
