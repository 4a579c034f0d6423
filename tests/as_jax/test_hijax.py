"""`jax.experimental.hijax`: values above arrays in programs, those that change and those that don't."""

_PAIR = """
    import dataclasses, pytest
    import jax, jax.numpy as jnp
    from jax.experimental import hijax

    @dataclasses.dataclass(frozen=True)
    class Pair:
        a: object
        b: object

    @dataclasses.dataclass(frozen=True)
    class PairType(hijax.HiType):
        a: object
        b: object
        def lo_ty(self):
            return [self.a, self.b]
        def lower_val(self, pair):
            return [pair.a, pair.b]
        def raise_val(self, a, b):
            return Pair(a, b)
        def to_tangent_aval(self):
            return PairType(self.a.to_tangent_aval(), self.b.to_tangent_aval())

    hijax.register_hitype(Pair, lambda pair: PairType(jax.typeof(pair.a), jax.typeof(pair.b)))

    class Make(hijax.HiPrimitive):
        def abstract_eval(self, a, b):
            return PairType(a, b), set()
        def to_lojax(self, a, b):
            return Pair(a, b)

    class First(hijax.HiPrimitive):
        def abstract_eval(self, pair):
            return pair.a, set()
        def to_lojax(self, pair):
            return pair.a
        def jvp(self, primals, tangents):
            return first.bind(*primals), 10 * first.bind(*tangents)

    make, first = Make("make"), First("first")
"""

_BOX = """
    import jax, jax.numpy as jnp, pytest
    from jax.experimental import cur_qdd, hijax

    class Box:  # of arrays by name
        __slots__ = ("held",)
        def __init__(self, held):
            self.held = held
        def cur_qdd(self):
            return tuple((name, jax.typeof(x)) for name, x in self.held.items())
        def __getitem__(self, name):
            return dict(zip([n for n, _ in cur_qdd(self)], get.bind(self)))[name]
        def __setitem__(self, name, x):
            put.bind(self, jnp.asarray(x), name=name)

    class BoxType(hijax.MutableHiType):
        __hash__ = lambda self: 1
        __eq__ = lambda self, other: isinstance(other, BoxType)
        def new_from_loval(self, state, *held):
            return Box(dict(zip([n for n, _ in state], held)))
        def read_loval(self, state, box):
            return list(box.held.values())
        def update_from_loval(self, state, box, *held):
            box.held = dict(zip([n for n, _ in state], held))

    hijax.register_hitype(Box, lambda box: BoxType())

    class Get(hijax.HiPrimitive):
        multiple_results = True
        def impl(self, box):
            return list(box.held.values())
        to_lojax = impl

    class Put(hijax.HiPrimitive):
        multiple_results = True
        def impl(self, box, x, *, name):
            box.held = {**box.held, name: x}
            return []
        to_lojax = impl

    get, put = Get("get"), Put("put")
"""


def test_values_above_arrays_go_in_and_out_of_programs(run_as_jax):
    run_as_jax(_PAIR + """
    p = Pair(jnp.float32(1), jnp.float32(2))
    assert jax.typeof(p) == PairType(jax.typeof(p.a), jax.typeof(p.b)) and jax.tree.leaves([p]) == [p]
    assert make.bind(1.0, 2.0) == Pair(1.0, 2.0) and repr(make) == "make"
    traces = []
    @jax.jit
    def swap(tree):
        traces.append(0)
        pair = tree["p"]
        return {"p": make.bind(pair.b, first.bind(pair))}
    for _ in range(2):
        assert swap({"p": p}) == {"p": Pair(2, 1)}
    assert traces == [0]
    assert jax.jit(lambda x: x + first.bind(p))(1.0) == 2
    assert jax.eval_shape(lambda pair: pair.b, p).dtype == "float32"
    assert jax.typeof(jax.eval_shape(lambda: jnp.ones(2))) == jax.typeof(jnp.ones(2))
    """)


def test_programs_of_values_above_arrays_are_shown_with_their_arrays(run_as_jax):
    run_as_jax(_PAIR + """
    p = Pair(jnp.float32(1), jnp.ones(3))
    program, shape = jax.make_jaxpr(lambda pair, x: make.bind(x, pair.b * x), return_shape=True)(p, 2.0)
    assert [a.shape for a in program.in_avals] == [(), (3,), ()] and [a.shape for a in program.out_avals] == [(), (3,)]
    assert [e.primitive.name for e in program.eqns][-1] == "mul" and isinstance(jax.typeof(shape), PairType)
    """)


def test_primitives_above_arrays_say_their_derivatives(run_as_jax):
    run_as_jax(_PAIR + """
    f = lambda x: first.bind(make.bind(x, x)) * x
    for g in (f, jax.jit(f)):
        assert jax.jvp(g, (3.0,), (1.0,)) == (9, 33)
        assert jax.grad(g)(3.0) == 33
    assert jax.jit(jax.grad(f))(3.0) == 33
    class Nothing(hijax.HiPrimitive): ...
    with pytest.raises(NotImplementedError, match="neither a method to_lojax"):
        Nothing("nothing").bind(1.0)
    with pytest.raises(NotImplementedError, match="jax.experimental.hijax."):
        hijax.HiPspec()
    """)


def test_values_that_change_are_updated_by_programs(run_as_jax):
    run_as_jax(_BOX + """
    box, traces = Box({"x": jnp.float32(1)}), []
    @jax.jit
    def step(box, same, y):
        traces.append(0)
        assert box is same
        box["x"] = box["x"] + y
        return box["x"] * 2
    assert step(box, box, 2.0) == 6 and box["x"] == 3
    assert step(box, box, 2.0) == 10 and box["x"] == 5 and traces == [0]
    @jax.jit
    def grow(box):
        box["new"] = jnp.ones(2)
    grow(box)
    assert box["new"].shape == (2,) and [n for n, _ in cur_qdd(box)] == ["x", "new"]
    assert jax.eval_shape(lambda box: box["new"], box).shape == (2,) and box["x"] == 5
    """)


def test_values_that_change_are_carried_into_and_out_of_traced_functions(run_as_jax):
    run_as_jax(_BOX + """
    box = Box({"x": jnp.float32(1)})
    def body(carry, _):
        box["x"] = box["x"] + 1
        return carry, None
    jax.lax.scan(body, None, None, length=5)
    assert box["x"] == 6
    def loss(x):
        box["x"] = jax.lax.stop_gradient(3 * x)
        return x ** 2 + box["x"]
    assert jax.grad(loss)(jnp.float32(4)) == 8 and box["x"] == 12
    add = jax.jit(lambda x: box.__setitem__("x", box["x"] + x))
    for n in range(3):
        add(1.0)
        box["x"] = box["x"] * 2
    assert box["x"] == (((12 + 1) * 2 + 1) * 2 + 1) * 2
    with pytest.raises(NotImplementedError, match="Give it to the function as an argument"):
        jax.jit(lambda: box.__setitem__("y", 1.0))()
    box["y"] = 1.0
    with pytest.raises(ValueError, match="ended by a change of what the value above it holds"):
        add(1.0)
    """)
