"""`VJPHiPrimitive` and transformations of functions of values above arrays whose tangents are of another type."""

_SCALED = """
    import jax, jax.numpy as jnp, numpy as np, pytest
    from jax import grad, jit, jvp, vmap
    from jax.experimental.hijax import VJPHiPrimitive, Zero, instantiate_zeros

    class Product(VJPHiPrimitive):  # of x and y, with derivatives that show which rule was used
        def __init__(self, x, y, **params):
            self.in_avals, self.out_aval, self.params = (x, y), x, params
            super().__init__()
        def expand(self, x, y):
            return x * y * self.scale

    class Reverse(Product):
        def vjp_fwd(self, nzs_in, x, y):
            assert type(nzs_in) is tuple and len(nzs_in) == 2
            return self(x, y), {"x": x, "y": y, "text": "kept"}
        def vjp_bwd_retval(self, res, g):
            assert res["text"] == "kept"
            return 10 * g * res["y"], None

    class Forward(Product):
        def jvp(self, primals, tangents):
            (x, y), (x_dot, y_dot) = primals, tangents
            return self(x, y), 100 * (x_dot * y + x * y_dot)

    class Both(Reverse):
        jvp = Forward.jvp

    def of(kind):
        return lambda x, y: kind(jax.typeof(x), jax.typeof(y), scale=2.0)(x, y)
"""

_QUANTIZED = """
    import dataclasses
    import jax, jax.numpy as jnp, numpy as np, pytest
    from jax import grad, jit, lax, vmap
    from jax.experimental import hijax
    from jax.experimental.hijax import MappingSpec, ShapedArray, VJPHiPrimitive

    @dataclasses.dataclass(frozen=True)
    class Rounded:  # halves of integers
        twice: object

    class First(MappingSpec):
        pass

    @dataclasses.dataclass(frozen=True)
    class RoundedType(hijax.HiType):
        shape: tuple
        def lo_ty(self):
            return [ShapedArray(self.shape, jnp.dtype("int8"))]
        def lower_val(self, x):
            return [x.twice]
        def raise_val(self, twice):
            return Rounded(twice)
        def to_tangent_aval(self):
            return ShapedArray(self.shape, jnp.dtype("float32"))
        def dec_rank(self, size, spec):
            assert self.shape[0] == size
            return RoundedType(self.shape[1:])
        def inc_rank(self, size, spec):
            return RoundedType((size, *self.shape))
        def leading_axis_spec(self):
            return First()
        rank = hijax.aval_property(lambda x: len(x.aval.shape))

    hijax.register_hitype(Rounded, lambda x: RoundedType(x.twice.shape))

    class StraightThrough(VJPHiPrimitive):
        def vjp_fwd(self, nzs_in, x):
            return self(x), None
        def vjp_bwd_retval(self, res, g):
            return (g,)

    class Round(StraightThrough):
        def __init__(self, x):
            self.in_avals, self.out_aval, self.params = (x,), RoundedType(x.shape), {}
            super().__init__()
        def expand(self, x):
            return Rounded(jnp.round(2 * x).astype(jnp.int8))

    class Float(StraightThrough):
        def __init__(self, x):
            self.in_avals, self.out_aval, self.params = (x,), ShapedArray(x.shape, jnp.dtype("float32")), {}
            super().__init__()
        def expand(self, x):
            return x.twice.astype("float32") / 2

    to = lambda x: Round(jax.typeof(x))(x)
    back = lambda r: Float(jax.typeof(r))(r)
    r = to(jnp.array([1.1, -0.4, 3.0]))
    halves = np.array([1, -0.5, 3], np.float32)
    rs = vmap(to, out_axes=First())(jnp.arange(6.0).reshape(2, 3))
    numbers = lambda tree: jax.tree.map(lambda x: back(x).tolist() if isinstance(x, Rounded) else x.tolist(), tree)
"""


def test_primitives_have_a_rule_for_each_mode(run_as_jax):
    run_as_jax(_SCALED + """
    reverse, forward, both = map(of, (Reverse, Forward, Both))
    for f in (reverse, forward, both):
        assert f(3.0, 4.0) == jit(f)(3.0, 4.0) == 24
    for wrap in (lambda f: f, jit):
        assert grad(wrap(reverse), (0, 1))(3.0, 4.0) == (40, 0) == jit(grad(wrap(both), (0, 1)))(3.0, 4.0)
        assert grad(wrap(forward), (0, 1))(3.0, 4.0) == (400, 300)
        assert jvp(wrap(reverse), (3.0, 4.0), (1.0, 1.0)) == (24, 40)
        assert jvp(wrap(both), (3.0, 4.0), (1.0, 1.0)) == (24, 700)
        assert jit(lambda *xs: jvp(wrap(both), xs, (1.0, 1.0)))(3.0, 4.0) == (24, 700)
        assert jvp(wrap(forward), (3.0, 4.0), (1.0, 0.0)) == (24, 400)
    x = jnp.arange(3.0)
    for wrap in (lambda f: f, jit):
        assert vmap(wrap(both), (0, None))(x, 4.0).tolist() == [0, 8, 16]
        assert vmap(grad(wrap(both)), (0, None))(x, 4.0).tolist() == [40] * 3
        assert grad(lambda y: vmap(wrap(both), (None, 0))(y, x).sum())(1.0) == 30
        assert vmap(lambda x: jvp(wrap(both), (x, 4.0), (1.0, 0.0))[1])(x).tolist() == [400] * 3
    loop = lambda x: jax.lax.scan(lambda c, _: (both(c, 1.0), None), x, None, length=3)[0]
    assert grad(loop)(1.0) == 1000 and jvp(loop, (1.0,), (1.0,)) == (8, 1e6)
    """)


def test_primitives_say_what_they_lack(run_as_jax):
    run_as_jax(_SCALED + """
    class Nothing(VJPHiPrimitive):
        in_avals, out_aval, params = (), None, {}
    with pytest.raises(NotImplementedError, match="Product: its class has neither methods vjp_fwd"):
        grad(of(Product))(3.0, 4.0)
    with pytest.raises(NotImplementedError, match="for grad support, subclass Product must implement `vjp_fwd`"):
        grad(of(Product))(3.0, 4.0)
    with pytest.raises(NotImplementedError, match="for jvp support, subclass Product must implement `jvp`"):
        jvp(of(Product), (3.0, 4.0), (1.0, 1.0))
    with pytest.raises(NotImplementedError, match="must implement `expand`"):
        Nothing()()
    with pytest.raises(TypeError, match="takes arguments of types"):
        Product(jax.typeof(1), jax.typeof(1), scale=1)(1.0, 1)
    with pytest.raises(NotImplementedError, match="no method `expand`"):
        Nothing()()
    with pytest.raises(AttributeError, match="must set self.in_avals"):
        VJPHiPrimitive()
    one = lambda: Product(jax.typeof(1.), jax.typeof(1.), scale=1)
    assert one() == one() and hash(one()) == hash(one()) and one() != Product(jax.typeof(1.), jax.typeof(1.), scale=2)
    """)


def test_pytrees_accumulators_linearized_and_batch_rules(run_as_jax):
    run_as_jax(_SCALED + """
    class Sides(VJPHiPrimitive):
        def __init__(self, point):
            self.in_avals, self.out_aval, self.params = (point,), {"a": point["x"], "b": point["y"]}, {}
            super().__init__()
        def expand(self, point):
            return {"a": point["x"] ** 2, "b": jnp.sin(point["y"])}
        def vjp_fwd(self, nzs_in, point):
            assert nzs_in == ({"x": True, "y": True},)
            return self(point), point
        def vjp_bwd(self, point, g, accums):
            assert isinstance(g["b"], Zero)
            accums["x"].accum(3 * g["a"])
            accums["x"].accum(instantiate_zeros(g["b"]) + point["y"])
    run = lambda point: Sides(jax.tree.map(jax.typeof, point))(point)["a"]
    for f in (run, jit(run)):
        assert grad(f)({"x": 1.0, "y": 5.0}) == {"x": 8, "y": 0}

    class Cube(VJPHiPrimitive):
        def __init__(self, x):
            self.in_avals, self.out_aval, self.params = (x,), x, {}
            super().__init__()
        def expand(self, x):
            return x ** 3 if jnp.ndim(x) or x > 0 else -x
        def lin(self, nzs_in, x):
            return self(x), x ** 2
        def linearized(self, squared, t):
            return 30 * squared * t
        def batch(self, axis_data, args, dims):
            batches.append((axis_data.size, dims))
            return args[0] ** 3, dims[0]
    batches, cube = [], lambda x: Cube(jax.typeof(x))(x)
    assert cube(-2.0) == 2 and jax.linearize(cube, 2.0)[1](1.0) == 120 == grad(cube)(2.0) == jvp(cube, (2.0,), (1.0,))[1]
    assert vmap(cube, 1)(jnp.full((2, 3), 2.0)).shape == (3, 2) and batches == [(3, (1,))]
    """)


def test_derivatives_of_values_whose_tangents_are_of_another_type(run_as_jax):
    run_as_jax(_QUANTIZED + """
    square = lambda r: (back(r) ** 2).sum()
    for f in (square, jit(square), lambda r: jit(lambda x: square(jit(to)(x)))(back(r))):
        assert np.array_equal(grad(f)(r), 2 * halves) and np.array_equal(jit(grad(f))(r), 2 * halves)
    (value, aux), grads = jax.value_and_grad(lambda a, q: (a * square(q), {"r": q}), (0, 1), has_aux=True)(2.0, r)
    assert value == 20.5 and numbers(aux) == {"r": halves.tolist()} and grads[0] == 10.25
    assert np.array_equal(grads[1], 4 * halves)
    out, pull = jax.vjp(lambda q: to(3 * back(q)), r)
    assert isinstance(out, Rounded) and np.array_equal(pull(jnp.ones(3))[0], [3, 3, 3])
    out, pull = jax.vjp(to, halves)
    assert isinstance(out, Rounded) and np.array_equal(pull(jnp.ones(3))[0], [1, 1, 1])
    assert jax.jvp(square, (r,), (jnp.ones(3),))[1] == 7 == jax.linearize(square, r)[1](jnp.ones(3))
    assert isinstance(jit(to)(halves), Rounded) and jit(lambda q: back(q) * q.rank)(r).tolist() == halves.tolist()
    with pytest.raises(AttributeError, match="primitives take it apart"):
        jit(lambda q: q.twice)(r)
    """)


def test_batches_loops_and_branches_of_values_above_arrays(run_as_jax):
    run_as_jax(_QUANTIZED + """
    assert jax.typeof(rs) == RoundedType((2, 3))
    doubled = lambda q: to(2 * back(q))
    for f in (doubled, jit(doubled)):
        many = vmap(f, in_axes=First(), out_axes=First(), axis_size=2)(rs)
        assert numbers(many) == [[0, 2, 4], [6, 8, 10]]
    assert vmap(lambda q, y: back(q) * y, (First(), 0))(rs, jnp.arange(2.0)).tolist() == [[0, 0, 0], [3, 4, 5]]
    assert vmap(lambda q, y: back(q) * y, (None, 0))(r, jnp.arange(2.0))[1].tolist() == halves.tolist()
    squares = lambda q: (back(q) ** 2).sum()
    assert vmap(grad(squares), First(), axis_size=2)(rs).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert grad(lambda q: vmap(squares, First(), axis_size=2)(q).sum())(rs).tolist() == [[0, 2, 4], [6, 8, 10]]
    with pytest.raises(ValueError, match="needs axis_size"):
        vmap(back, First())(rs)
    loop = lambda q: lax.scan(lambda c, _: (doubled(c), None), q, None, length=3)[0]
    assert numbers(loop(r)) == (8 * halves).tolist() and grad(lambda q: back(loop(q)).sum())(r).tolist() == [8] * 3
    total, shifted = lax.scan(lambda c, q: (c + back(q), to(back(q) + 1)), jnp.zeros(3), rs)
    assert total.tolist() == [3, 5, 7] and numbers(shifted) == [[1, 2, 3], [4, 5, 6]]
    assert numbers(lax.fori_loop(0, 2, lambda i, q: doubled(q), r)) == (4 * halves).tolist()
    assert numbers(lax.while_loop(lambda q: back(q).sum() < 8, doubled, r)) == (4 * halves).tolist()
    for choose in (lambda p: lax.cond(p, doubled, lambda q: q, r), jit(lambda p: lax.cond(p, doubled, lambda q: q, r))):
        assert numbers(choose(True)) == (2 * halves).tolist() and numbers(choose(False)) == halves.tolist()
    assert numbers(lax.switch(1, [lambda q: q, doubled], r)) == (2 * halves).tolist()
    """)


def test_types_that_ask_the_types_of_their_parts(run_as_jax):
    """A pair of arrays finds its batches and elements by the methods that types of arrays have, too."""
    run_as_jax("""
    import dataclasses
    import jax, jax.numpy as jnp, numpy as np
    from jax import lax
    from jax.experimental import hijax

    @dataclasses.dataclass
    class Pair:
        parts: tuple

    @dataclasses.dataclass(frozen=True)
    class PairSpec(hijax.MappingSpec):
        axes: tuple

    @dataclasses.dataclass(frozen=True)
    class PairType(hijax.HiType):
        types: tuple
        def lo_ty(self):
            return list(self.types)
        def lower_val(self, x):
            return list(x.parts)
        def raise_val(self, *parts):
            return Pair(parts)
        def to_tangent_aval(self):
            return PairType(tuple(t.to_tangent_aval() for t in self.types))
        def dec_rank(self, size, spec):
            return PairType(tuple(t.dec_rank(size, d) for t, d in zip(self.types, spec.axes)))
        def inc_rank(self, size, spec):
            return PairType(tuple(t.inc_rank(size, d) for t, d in zip(self.types, spec.axes)))
        def leading_axis_spec(self):
            return PairSpec(tuple(t.leading_axis_spec() for t in self.types))

    hijax.register_hitype(Pair, lambda x: PairType(tuple(map(jax.typeof, x.parts))))

    class Double(hijax.HiPrimitive):
        def abstract_eval(self, kind):
            return kind, set()
        def to_lojax(self, x):
            return Pair(tuple(2 * part for part in x.parts))

    double = Double("double")
    pair = Pair((jnp.arange(3.0), jnp.arange(12.0).reshape(3, 4)))
    for wrap in (lambda f: f, jax.jit):
        _, out = wrap(lambda x: lax.scan(lambda _, step: ((), double.bind(step)), (), x, length=3))(pair)
        np.testing.assert_array_equal(out.parts[1], 2 * pair.parts[1])
        both = PairSpec((0, 0))
        out = wrap(jax.vmap(double.bind, in_axes=(both,), out_axes=both, axis_size=3))(pair)
        np.testing.assert_array_equal(out.parts[0], 2 * pair.parts[0])
    element = jax.typeof(pair.parts[1])
    assert str(element.dec_rank(4, 1)) == "float32[3]" and str(element.dec_rank(3, None)) == "float32[3,4]"
    assert str(element.inc_rank(5, 2)) == "float32[3,4,5]" and element.leading_axis_spec() == 0
""")
