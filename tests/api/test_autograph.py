"""autograph: rewritten functions agree with Python, outside of traces and inside; errors name the variable and the line."""

from __future__ import annotations

import functools
import inspect
import pickle
import traceback

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

SCALE = 3


def early_returns(x, n):
    if x > 0:
        if x > 10:
            return x * 2
        y = x + n
    elif x < -5:
        return -x
    else:
        y = -x
    z = y * 3
    if z > 20:
        return z
    return z - 1


def loop_with_all(x, n):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
        if total > x:
            break
    else:
        total = total + 1000
    return total


def return_in_nested_loops(x, n):
    for i in range(n):
        for j in range(i):
            if i * j > x:
                return i * 100 + j
    return -1


def backwards(x, n):
    found = x
    for i in range(n, -3, -2):
        found = found * 2 + i
    return found


def while_else(x, n):
    while x < 100:
        x = x * 2 + 1
        n -= 1
        if n < 0:
            break
    else:
        x = -x
    return x, n


def while_true(x, n):
    k = 0
    while True:
        k += 1
        x = x + k
        if x > 20 or k >= n:
            return x * k


def booleans(x, n):
    a = 0 < x < 5 or x == 7
    b = not (x > 3 and n > 2)
    c = 1 if a and b else 2
    return c + (x if not a else n)


def nested_function(x, n):
    k = 2

    def inner(v):
        nonlocal k
        k = k + n
        if v > 3:
            return v * k
        return v - k

    first = inner(x)
    return first + inner(x + 2) * k


def temporaries(x, n):
    out = x
    for i in range(n):
        t = i * 2
        if t > 4:
            u = t + 1
            out = out + u
        t = t + 1
    return out


def walrus(x, n):
    count = 0
    while (y := x + count + 1) < n * 10:
        count = count + 1
        x = y
    return x + count


def of_values(x, n):
    total = x
    for a in [1, 2, 3]:
        if total > 6:
            break
        total = total + a * n
    for key, value in {"a": 1, "b": 2}.items():
        total = total + value * len(key)
    return total


def annotated(x: int, n: int) -> int:
    y: int = x
    if x > n:
        y: int = n
    z: int
    z = y
    return z * SCALE


def only_statements(x, n):
    """Without a return in front of the end, with a with statement, try and del."""
    try:
        if x > 2:
            y = x
        else:
            y = n
    finally:
        t = y
    del y
    with nj.named_scope("here"):
        if t > 3:
            t = t + 1
    return t


FUNCTIONS = [early_returns, loop_with_all, return_in_nested_loops, backwards, while_else, while_true, booleans, nested_function,
             temporaries, walrus, of_values, annotated, only_statements]
ARGUMENTS = [(-9, 2), (-3, 4), (0, 0), (1, 3), (3, 3), (4, 7), (7, 1), (9, 6), (30, 5)]


@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda f: f.__name__)
def test_agrees_with_python(fun):
    made = nj.autograph(fun)
    compiled, first, second = nj.jit(made), nj.jit(made, static_argnums=1), nj.jit(made, static_argnums=0)
    for args in ARGUMENTS:
        want = fun(*args)
        assert made(*args) == want and np.shape(made(*args)) == np.shape(want)
        for run in (compiled, first, second):
            got = run(*args)
            assert nj.tree.structure(got) == nj.tree.structure(want)
            assert [int(g) for g in nj.tree.leaves(got)] == nj.tree.leaves(want), (fun.__name__, args)
    batch = nj.jit(nj.vmap(made))(*[jnp.array(column) for column in zip(*ARGUMENTS, strict=True)])
    for k, args in enumerate(ARGUMENTS):
        assert [int(leaf[k]) for leaf in nj.tree.leaves(batch)] == nj.tree.leaves(fun(*args))


@nj.autograph
def newton(a, x):
    for _ in range(100):
        if jnp.abs(x * x - a) < 1e-9:
            return x
        x = (x + a / x) / 2
    return x


@nj.autograph
def largest(rows):
    best = rows[0]
    for row in rows:
        best = row if row.sum() > best.sum() and not row[0] > 50 else best
    return best


def test_derivatives():
    with nj.enable_x64(True):
        for run in (newton, nj.jit(newton)):
            assert abs(nj.grad(run)(9.0, 1.0) - 1 / 6) < 1e-9
            assert abs(nj.jacfwd(run)(9.0, 1.0) - 1 / 6) < 1e-9
        rows = np.array([[1.0, 2.0], [60.0, 60.0], [3.0, 4.0]])
        want = [[0, 0], [0, 0], [1, 1]]
        assert nj.jit(nj.grad(lambda r: largest(r).sum()))(rows).tolist() == want == nj.grad(lambda r: largest(r).sum())(
            rows).tolist()


def test_known_values_stay_in_python():
    @nj.autograph
    def fun(x, mode, layers):
        if mode == "double" and layers:
            x = x * 2
            label = "doubled"
        else:
            label = None
        for layer in layers:
            x = layer(x)
        return x if label is None else x + len(label)

    made = nj.make_jaxpr(functools.partial(fun, mode="double", layers=[jnp.sin, jnp.cos]))(1.0)
    assert [e.primitive.name for e in made.jaxpr.eqns] == ["mul", "sin", "cos", "add"]


def test_each_block_is_traced_once_however_deep():
    count = 0

    def seen():
        nonlocal count
        count += 1

    @nj.autograph
    def deep(x):
        if x > 1:
            if x > 2:
                if x > 3:
                    if x > 4:
                        seen()
                        x = x + 1
        return x

    assert nj.jit(deep)(5.0) == 6.0 and count == 1


def test_variables_of_every_kind():
    default = jnp.ones(2)
    cell = 1.0

    class Model:
        __secret = 4.0

        def __init__(self):
            self.weight = 2.0

        @nj.autograph
        def call(self, x, *rest, bias=default, **more):
            if x > self.__secret:
                return {"y": x * self.weight + bias + cell, "n": len(rest)}
            return {"y": bias - more["c"], "n": len(rest)}

    class Derived(Model):
        @nj.autograph
        def call(self, x, *rest, **more):
            if x > 0:
                x = x + 1
            return super().call(x, *rest, **more)

    model = Derived()
    run = nj.jit(lambda x: model.call(x, 1, 2, c=10.0))
    assert run(4.0)["y"].tolist() == [12.0, 12.0] and run(-1.0)["y"].tolist() == [-9.0, -9.0] and int(run(0.0)["n"]) == 2
    cell = 100.0
    assert nj.autograph(model.call)(4.0, c=1.0)["y"].tolist() == [111.0, 111.0]


def test_signature_and_lines_are_the_users():
    made = nj.autograph(early_returns)
    assert made.__name__ == "early_returns" and inspect.signature(made) == inspect.signature(early_returns)
    eqns = nj.make_jaxpr(nj.autograph(backwards))(1, 5).jaxpr.eqns
    first = backwards.__code__.co_firstlineno
    assert all(e.source.file == __file__ and first <= e.source.line <= first + 4 for e in eqns if e.source is not None)

    @nj.autograph
    def fails(x):
        if x > 0:
            return x + jnp.ones((2, 3)) @ jnp.ones(2)
        return x

    with pytest.raises(TypeError) as info:
        nj.jit(fails)(1.0)
    lines = [f.line for f in traceback.extract_tb(info.value.__traceback__)]
    assert "return x + jnp.ones((2, 3)) @ jnp.ones(2)" in lines


def one_branch(x):
    if x > 0:
        y = 1.0
    return x + y


def only_in_loop(x):
    while x < 3:
        y = x
        x = x + 1
    return y


def missing_return(x):
    if x > 0:
        return x


def other_shape(x):
    if x > 0:
        x = jnp.ones(2)
    return x


def other_structure(x):
    y = (x, x)
    if x > 0:
        y = [x]
    return y


def text(x):
    name = "a" if x > 0 else "b"
    return name


def grows(x):
    y = jnp.ones(1)
    while x < 3:
        y = jnp.concatenate([y, y])
        x = x + 1
    return y


def becomes_real(x):
    n = jnp.int32(1)
    while x < 3:
        n = n * 0.5
        x = x + 1
    return n


def changes_text(x):
    name = "a"
    while x < 3:
        name = name + "b"
        x = x + 1
    return name


ERRORS = [
    (one_branch, UnboundLocalError, "'y' may have no value here: .*only one branch of a traced condition assigns it"),
    (only_in_loop, UnboundLocalError, "'y' may have no value here: .*may take no step"),
    (missing_return, TypeError, "must return one on all paths"),
    (other_shape, TypeError, r"'x' with the same shape, got \(2,\) and \(\)"),
    (other_structure, TypeError, "'y' with the same structure"),
    (text, TypeError, "the value would be 'a' or 'b'"),
    (grows, TypeError, r"must keep the shape of the variable 'y', got \(1,\) in front of a step and \(2,\) after it"),
    (becomes_real, TypeError, "must keep the type of the variable 'n'.*Convert it to float32 in front of the loop"),
    (changes_text, TypeError, "the variable 'name' changes from 'a' to 'ab'"),
]


@pytest.mark.parametrize(("fun", "error", "message"), ERRORS, ids=[row[0].__name__ for row in ERRORS])
def test_errors_name_variable_and_line(fun, error, message):
    with pytest.raises(error, match=message) as info:
        nj.jit(nj.autograph(fun))(1.0).block_until_ready()
    assert f"{fun.__name__} at {__file__}:" in str(info.value)


def test_what_cannot_be_rewritten():
    def generator(x):
        yield x

    for fun, error, message in [(lambda x: x, ValueError, "cannot rewrite a lambda"), (generator, ValueError, "generators"),
                                (nj.jit(newton), TypeError, "in front of jit"), (len, TypeError, "written in Python")]:
        with pytest.raises(error, match=message):
            nj.autograph(fun)
    namespace = {}
    exec("def made(x):\n    return x", namespace)
    with pytest.raises(ValueError, match="needs the source of made"):
        nj.autograph(namespace["made"])


def test_zero_step_is_refused():
    @nj.autograph
    def fun(n):
        total = 0
        for i in range(0, n, 0):
            total += i
        return total

    with pytest.raises(ValueError, match="must not be zero"):
        nj.jit(fun)(3)


@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda f: f.__name__)
def test_jit_with_control_flow(fun):
    run = nj.jit(fun, control_flow=True)
    for args in ARGUMENTS:
        assert [int(g) for g in nj.tree.leaves(run(*args))] == nj.tree.leaves(fun(*args))


@nj.jit(control_flow=True)
def halvings(x, limit=1.0):
    """Pickled by name."""
    count = 0
    while x > limit:
        x = x / 2
        count += 1
    return x * count


def test_jit_with_control_flow_in_every_place():
    def logged(fun):
        @functools.wraps(fun)
        def wrapper(*args):
            return fun(*args) + 1
        return wrapper

    offset = 10.0

    class Model:
        @nj.jit(static_argnums=0, control_flow=True)
        def call(self, x):
            def inner(y):
                if y > 0:
                    return y + offset
                return y - offset

            for k in range(3):
                if inner(x) > 20:
                    break
                x = x * 2 + k
            return x

    @logged
    @nj.jit(control_flow=True)
    def decorated(x):
        return -x if x < 0 else x

    assert float(Model().call(3.0)) == 13.0 and float(Model().call(-1.0)) == -4.0 and float(decorated(-2.0)) == 3.0
    assert float(nj.grad(halvings)(10.0)) == 4 / 16 == float(nj.jit(nj.grad(halvings))(10.0))
    assert nj.vmap(halvings)(jnp.array([0.5, 3.0, 10.0])).tolist() == [0.0, 1.5, 2.5]
    assert float(nj.jvp(halvings, (10.0,), (1.0,))[1]) == 0.25 and float(halvings(10.0, limit=5.0)) == 5.0
    assert pickle.loads(pickle.dumps(halvings)) is halvings
    assert halvings.__doc__ == "Pickled by name." and list(inspect.signature(halvings).parameters) == ["x", "limit"]
    with pytest.raises(ValueError, match="cannot rewrite a lambda"):
        nj.jit(lambda x: x, control_flow=True)
    with pytest.raises(UnboundLocalError, match=f"one_branch at {__file__}:"):
        nj.jit(one_branch, control_flow=True)(1.0)


def test_library_functions_are_given_back():
    assert nj.autograph(jnp.sum) is jnp.sum and nj.jit(jnp.sum, control_flow=True)(jnp.ones(3)) == 3
