"""numjet.experimental.sparse: every layout against NumPy's dense results, derivatives, batches, padding, sparsify, SciPy."""
from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental import sparse
from numjet.experimental.sparse import test_util as helpers

SHAPE = (3, 4, 5, 2)
RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random(SHAPE) < 0.4, RNG.normal(size=SHAPE), 0).astype(np.float32)
LAYOUTS = [(b, d) for b in range(4) for d in range(4 - b)]
MATRIX = np.where(RNG.random((6, 7)) < 0.4, RNG.normal(size=(6, 7)), 0).astype(np.float32)


def close(got, want, rtol=1e-4):
    np.testing.assert_allclose(np.asarray(sparse.todense(got)), np.asarray(want), rtol=rtol, atol=1e-5)


def padded(n_batch, n_dense):
    m = sparse.BCOO.fromdense(DENSE, n_batch=n_batch, n_dense=n_dense)
    return sparse.BCOO.fromdense(DENSE, n_batch=n_batch, n_dense=n_dense, nse=m.nse + 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_order_and_layout_keep_the_array(layout):
    m = padded(*layout)
    for same in (m, m.sum_duplicates(), m.sort_indices(), nj.jit(lambda m: m.sort_indices())(m)):
        close(same, DENSE, 0)
    for n_batch, n_dense in LAYOUTS:
        other = m.update_layout(n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
        assert (other.n_batch, other.n_dense) == (n_batch, n_dense)
        close(other, DENSE, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_moving_and_summing(layout):
    m = padded(*layout)
    for axes in ((0,), (2,), (3,), (0, 2), (1, 3), (0, 1, 2, 3)):
        close(sparse.bcoo_reduce_sum(m, axes=axes), DENSE.sum(axes))
        close(sparse.bcoo_rev(m, axes), np.flip(DENSE, axes))
    close(sparse.bcoo_slice(m, start_indices=(1, 0, 1, 0), limit_indices=(3, 4, 5, 1), strides=(1, 2, 2, 1)),
          DENSE[1:, ::2, 1::2, :1])
    close(sparse.bcoo_dynamic_slice(m, (1, 3, 1, 0), (2, 2, 3, 1)), DENSE[1:, 2:, 1:4, :1])
    for axis in range(4):
        close(sparse.bcoo_concatenate([m, m], dimension=axis), np.concatenate([DENSE] * 2, axis))
        part = sparse.bcoo_slice(m, start_indices=[0] * 4, limit_indices=[1 if d == axis else s for d, s in enumerate(SHAPE)])
        close(sparse.bcoo_squeeze(part, dimensions=(axis,)), DENSE.take(0, axis))
    for axis, size in itertools.product(range(5), (1, 2)):
        shape = [*SHAPE[:axis], size, *SHAPE[axis:]]
        dims = [d for d in range(5) if d != axis]
        close(sparse.bcoo_broadcast_in_dim(m, shape=shape, broadcast_dimensions=dims),
              np.broadcast_to(np.expand_dims(DENSE, axis), shape))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("contracting, shape, other, batch", [
    ((3,), (2, 6), (0,), ((), ())), ((1, 2), (4, 5), (0, 1), ((), ())), ((3,), (3, 2, 6), (1,), ((0,), (0,))),
    ((0,), (3, 7), (0,), ((), ())), ((1,), (5, 4, 3), (1,), ((0, 2), (2, 0))), ((), (3, 4, 5, 2), (), ((0, 1, 2, 3),) * 2)])
def test_products(layout, contracting, shape, other, batch):
    m, rhs = padded(*layout), RNG.normal(size=shape).astype(np.float32)
    numbers, swapped = ((contracting, other), batch), ((other, contracting), batch[::-1])
    close(nj.jit(lambda m, r: sparse.bcoo_dot_general(m, r, dimension_numbers=numbers))(m, rhs), nj.lax.dot_general(
        DENSE, rhs, numbers))
    close(sparse.bcoo_dot_general(rhs, m, dimension_numbers=swapped), nj.lax.dot_general(rhs, DENSE, swapped))
    if not layout[1] and all(d < layout[0] for d in batch[0]) and batch[1] == tuple(range(len(batch[1]))):
        second = sparse.BCOO.fromdense(rhs, n_batch=len(batch[1]))
        close(sparse.bcoo_dot_general(m, second, dimension_numbers=numbers), nj.lax.dot_general(DENSE, rhs, numbers))


def test_products_do_not_make_the_matrix_dense():
    n = 1 << 20
    m = sparse.eye(n)
    product = nj.jit(lambda m, v: m @ v)
    assert float(product(m, jnp.ones(n)).sum()) == n
    assert product.lower(m, jnp.ones(n)).compile().memory_analysis().temp_size_in_bytes < 64 * n


@pytest.mark.parametrize("layout", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_elementwise_products_broadcast(layout):
    m = padded(*layout)
    for v in (DENSE, DENSE[:1], DENSE[0], DENSE[:, :1], DENSE[0, 0, 0], np.float32(2)):
        close(sparse.BCOO((sparse.bcoo_multiply_dense(m, v), m.indices), shape=SHAPE), DENSE * v)
    close(sparse.bcoo_multiply_sparse(m, m), DENSE * DENSE)


def test_sampled_products():
    a, b = RNG.normal(size=(2, 3, 4)).astype(np.float32), RNG.normal(size=(2, 5, 4)).astype(np.float32)
    full = np.einsum("bik,bjk->bij", a, b)
    numbers = (((2,), (2,)), ((0,), (0,)))
    where = sparse.BCOO.fromdense(full * (RNG.random(full.shape) < 0.5), n_batch=1, nse=16)
    got = sparse.bcoo_dot_general_sampled(a, b, where.indices, dimension_numbers=numbers)
    close(sparse.BCOO((got, where.indices), shape=full.shape), full * (where.todense() != 0))


def test_derivatives_by_data_and_dense_operands():
    m, v = sparse.BCOO.fromdense(MATRIX, nse=25), jnp.asarray(RNG.normal(size=7).astype(np.float32))
    of_data = lambda data, v: jnp.sin(sparse.BCOO((data, m.indices), shape=m.shape) @ v)
    nj.test_util.check_grads(of_data, (m.data, v), order=2, atol=1e-2, rtol=1e-2)
    square = lambda m, v: jnp.sum((m @ v) ** 2)
    value, grad = sparse.value_and_grad(square)(m, v)
    want = nj.grad(square)(jnp.asarray(MATRIX), v)
    close(grad, np.where(MATRIX != 0, want, 0))
    close(sparse.grad(square)(m, v), np.where(MATRIX != 0, want, 0))
    np.testing.assert_allclose(value, square(MATRIX, v), rtol=1e-5)
    for jacobian, dense in ((sparse.jacfwd, nj.jacfwd), (sparse.jacrev, nj.jacrev)):
        got = jacobian(lambda m, v: m @ v)(m, v)
        close(got, np.where(MATRIX != 0, dense(lambda a, v: a @ v)(jnp.asarray(MATRIX), v), 0))
    data, pull = nj.vjp(lambda a: sparse.bcoo_fromdense(a, nse=25).data, jnp.asarray(MATRIX))
    close(pull(data)[0], MATRIX)  # padding takes nothing


def test_derivatives_of_products_of_sparse_arrays():
    m = sparse.BCOO.fromdense(MATRIX)
    both = lambda x, y: (sparse.BCOO((x, m.indices), shape=m.shape) @ sparse.BCOO((y, m.indices), shape=m.shape).T).todense()
    nj.test_util.check_grads(both, (m.data, m.data), order=1, atol=1e-2, rtol=1e-2)


def test_vmap_over_batch_axes_and_of_values():
    m = sparse.BCOO.fromdense(DENSE, n_batch=2)
    got = nj.vmap(nj.vmap(lambda x: x * 2))(m)
    assert got.shape == SHAPE and got.n_batch == 2
    close(got, DENSE * 2)
    close(nj.vmap(lambda x: x.sum(0).todense())(m), DENSE.sum(1))
    with pytest.raises(ValueError, match="batch axes"):
        nj.vmap(lambda x: x, in_axes=2)(m)
    flat = sparse.BCOO.fromdense(MATRIX)
    vectors = RNG.normal(size=(4, 7)).astype(np.float32)
    close(nj.vmap(lambda v: flat @ v)(vectors), vectors @ MATRIX.T)
    scales = np.arange(3, dtype=np.float32)
    close(nj.vmap(lambda s: flat * s)(scales), MATRIX * scales[:, None, None])


def test_padding_and_duplicates():
    indices = jnp.array([[0, 1], [0, 1], [9, 0], [2, 2], [3, 3]])
    m = sparse.BCOO((jnp.array([1.0, 2.0, jnp.nan, 4.0, jnp.inf]), indices), shape=(3, 3))
    want = np.zeros((3, 3), np.float32)
    want[0, 1], want[2, 2] = 3, 4
    v = jnp.ones(3)
    close(m, want)
    for got, dense in ((m @ v, want @ v), (v @ m, v @ want), (m.sum(0), want.sum(0)), (m.sum(), want.sum()),
                       (m @ m, want @ want),
                       (m[0], want[0]), (m.reshape(9), want.reshape(9)), (m * m, want * want), (m + m, 2 * want)):
        close(got, dense)
    assert m.sum_duplicates().nse == 2 and m.sum_duplicates(nse=4).nse == 4
    close(m.sum_duplicates(nse=1), np.where(want == 3, want, 0))
    first = sparse.bcoo_extract(m, jnp.arange(9.0).reshape(3, 3))
    assert first.data.tolist() == [1.0, 0.0, 0.0, 8.0, 0.0]


def test_strict_promotion_and_small_index_dtypes():
    def results(m, dense):
        return [(m[1:4], dense[1:4]), (m[jnp.array([1, 0])], dense[jnp.array([1, 0])]), (m @ dense.T, dense @ dense.T),
                (m.reshape(42), dense.reshape(42)), (m.update_layout(n_dense=1, on_inefficient=None),
                                                     dense), (m.sum_duplicates(), dense),
                (m.update_layout(n_batch=1, on_inefficient=None).update_layout(n_batch=0), dense)]
    with nj.numpy_dtype_promotion("strict"), nj.numpy_rank_promotion("raise"):
        for index_dtype in ("int8", "uint8", "int32"):
            m = sparse.BCOO.fromdense(MATRIX, nse=30, index_dtype=index_dtype)
            for got, want in results(m, jnp.asarray(MATRIX)):
                close(got, want)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_empty_arrays(shape):
    m = sparse.BCOO.fromdense(jnp.zeros(shape))
    for got, want in ((m, shape), (m.T, shape[::-1]), (m.sum(0), shape[1:]), (m + m, shape), (m.sum_duplicates(), shape),
                      (m.sort_indices(), shape), (m @ jnp.ones(shape[1]), shape[:1])):
        close(got, np.zeros(want))


CASES = {
    "index": (lambda x: x[1], lambda x: x[1]), "rows": (lambda x: x[jnp.array([2, 0])], lambda x: x[[2, 0]]),
    "columns": (lambda x: x[:, jnp.array([2, 0])], lambda x: x[:, [2, 0]]),
    "steps": (lambda x: x[::2, ::-1], lambda x: x[::2, ::-1]), "new axis": (lambda x: x[:, None], lambda x: x[:, None]),
    "unary": (lambda x: jnp.sin(x) + jnp.tanh(x) ** 2, lambda x: np.sin(x) + np.tanh(x) ** 2),
    "dense": (lambda x: x * jnp.arange(7.0) / 2 - jnp.ones((6, 7)), lambda x: x * np.arange(7.0) / 2 - 1),
    "stack": (lambda x: jnp.stack([x, -x]), lambda x: np.stack([x, -x])), "mean": (jnp.mean, np.mean),
    "matmul": (lambda x: x @ x.T, lambda x: x @ x.T), "branch": (
        lambda x: nj.lax.cond(x.sum() > 1e9, lambda x: -x, lambda x: 2 * x, x), lambda x: 2 * x),
    "loop": (lambda x: nj.lax.fori_loop(0, 3, lambda _, c: c * 2, x), lambda x: 8 * x),
    "call": (nj.jit(lambda x: x.T), np.transpose), "todense": (lambda x: sparse.todense(x) + 1, lambda x: x + 1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR])
def test_sparsify(name, kind):
    function, of_dense = CASES[name]
    close(sparse.sparsify(function)(kind.fromdense(MATRIX)), of_dense(MATRIX))


def test_sparsify_refuses_dense_results():
    with pytest.raises(NotImplementedError, match="exp"):
        sparse.sparsify(jnp.exp)(sparse.eye(2))
    with pytest.raises(NotImplementedError, match="Division by a sparse array"):
        1 / sparse.eye(2)


@pytest.mark.parametrize("kind", [sparse.BCOO, sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_formats(kind):
    m, v, w = kind.fromdense(MATRIX), RNG.normal(size=7).astype(np.float32), RNG.normal(size=(7, 2)).astype(np.float32)
    assert repr(m).startswith(f"{kind.__name__}(float32[6, 7], nse=")
    assert nj.jit(lambda m: m)(m).shape == (6, 7)
    for got, want in ((m, MATRIX), (m.T, MATRIX.T), (m @ v, MATRIX @ v), (nj.jit(lambda m: m @ w)(m), MATRIX @ w),
                      (m.T @ MATRIX, MATRIX.T @ MATRIX)):
        close(got, want)
    name = kind.__name__.lower()
    close(sparse.eye(3, 4, k=-1, sparse_format=name), np.eye(3, 4, -1))
    close(sparse.empty((2, 3), sparse_format=name), np.zeros((2, 3)))
    with pytest.raises(TypeError):
        hash(m)


def test_scipy_matrices_and_solver():
    a = scipy.sparse.random(20, 20, 0.2, random_state=0, format="csr") + 10 * scipy.sparse.eye(20, format="csr")
    for kind in (sparse.BCOO, sparse.BCSR):
        close(kind.from_scipy_sparse(a), a.toarray())
    m, b = sparse.CSR.fromdense(a.toarray().astype(np.float32)), np.arange(20, dtype=np.float32)
    solve = lambda data, b: sparse.linalg.spsolve(data, m.indices, m.indptr, b)
    close(nj.jit(solve)(m.data, b), np.linalg.solve(a.toarray(), b))
    close(nj.vmap(solve, (None, 0))(m.data, np.stack([b, 2 * b])), np.linalg.solve(a.toarray(), np.stack([b, 2 * b]).T).T)
    nj.test_util.check_grads(solve, (m.data, b), order=1, atol=1e-2, rtol=1e-2)


def test_eigenvalues():
    basis = np.linalg.qr(RNG.normal(size=(40, 40)))[0]
    matrix = (basis * np.linspace(-3, 5, 40)) @ basis.T
    values, vectors, _ = sparse.linalg.lobpcg_standard(jnp.asarray(matrix, np.float32),
                                                       RNG.normal(size=(40, 3)).astype(np.float32))
    np.testing.assert_allclose(values, np.linspace(-3, 5, 40)[:-4:-1], rtol=1e-4)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-3)
    ones = jnp.ones((40, 1))
    for matrix, start, message in [
            (jnp.eye(4), jnp.ones((4, 1)), "search dim"), (jnp.eye(40), ones[:, :0], "search dim > 0"),
            (jnp.eye(40)[:20], ones, r"A must be \(40, 40\)"), (jnp.eye(40, dtype=np.float16), ones, "must have same dtypes"),
            (lambda x: x.astype(np.float16), ones, "must have same dtypes")]:
        with pytest.raises(ValueError, match=message):
            sparse.linalg.lobpcg_standard(matrix, start)


def test_lobpcg_under_strict_promotion():
    with nj.numpy_rank_promotion("raise"), nj.numpy_dtype_promotion("strict"):
        values, _, _ = sparse.linalg.lobpcg_standard(jnp.diag(jnp.arange(20.0)), jnp.eye(20)[:, :2] + 0.1)
    np.testing.assert_allclose(values, [19, 18], rtol=1e-5)


def test_convolution():
    x, y = np.array([1.0, 0, 2, 0, 3], np.float32), np.array([1.0, 0, -1], np.float32)
    for padding in ([(0, 0)], [(2, 1)], "SAME"):
        got = sparse.bcoo_conv_general_dilated(
            *(sparse.BCOO.fromdense(v[None, None]) for v in (x, y)), window_strides=(1,), padding=padding)
        close(got, nj.lax.conv_general_dilated(x[None, None], y[None, None], (1,), padding))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_arrays(layout):
    m = sparse.random_bcoo(nj.random.key(0), SHAPE, dtype=np.float32, n_batch=layout[0], n_dense=layout[1], sorted_indices=True)
    places = np.prod(SHAPE[layout[0]:4 - layout[1]])
    assert m.nse == int(np.ceil(0.2 * places)) and m.sum_duplicates(remove_zeros=False).nse == m.nse


def test_transposes_of_batch_and_dense_axes_leave_indices_in_order():
    mat = sparse.BCOO.fromdense(jnp.ones((2, 3, 4, 5, 2, 2)), n_batch=2, n_dense=2)
    assert mat.transpose((1, 0, 2, 3, 5, 4)).indices_sorted
    assert not mat.transpose((0, 1, 3, 2, 4, 5)).indices_sorted
    unsorted = sparse.BCOO((mat.data, mat.indices[:, :, ::-1]), shape=mat.shape)
    assert not unsorted.transpose((1, 0, 2, 3, 4, 5)).indices_sorted


@pytest.mark.parametrize("layout", [{}, {"n_batch": 1}, {"n_batch": 2}, {"n_dense": 1}])
def test_diagonals_outside_of_the_matrix_store_nothing(layout):
    assert sparse.eye(2, 2, 2, **layout).nse == sparse.BCOO.fromdense(jnp.zeros((2, 2)), **layout).nse


def test_copies_of_sparse_arrays_in_sparsified_functions():
    mat = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
    assert np.array_equal(sparse.sparsify(jnp.copy)(mat).data, mat.data)


def test_traced_arrays_print_under_the_names_of_their_tracers():
    shown = []
    nj.jit(lambda m: shown.append(repr(m)))(sparse.eye(2))
    assert shown == ["JitTracer[BCOO(float32[2, 2], nse=2)]"]


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match=r"Invalid data\.shape"):
        sparse.BCOO((jnp.ones(3), jnp.zeros((2, 1), int)), shape=(3,))
    with pytest.raises(nj.errors.ConcretizationTypeError, match="nse"):
        nj.jit(lambda x: sparse.bcoo_fromdense(x).data)(jnp.eye(2))
    with pytest.raises(sparse.SparseEfficiencyError, match="on_inefficient"):
        sparse.eye(3).update_layout(n_batch=1)


class TestHelpers(helpers.SparseTestCase):
    def test_against_dense(self):
        make = helpers.rand_bcoo(self.rng())
        args = lambda: (make((3, 4), np.float32), jnp.ones(4))
        self._CheckAgainstDense(jnp.matmul, lambda m, v: m @ v, args, tol=1e-5)
        self._CheckGradsSparse(jnp.matmul, lambda m, v: m @ v, args, rtol=1e-4, atol=1e-4)
        self._CheckBatchingSparse(jnp.matmul, lambda m, v: m @ v, args, bdims=self._random_bdims(0, 1), rtol=1e-4, atol=1e-4)
        with pytest.raises(AssertionError):
            self._CheckBatchingSparse(jnp.matmul, lambda m, v: m @ v + 1, args)

    def test_random_layouts(self):
        for kind, layouts in ((helpers.rand_bcoo, helpers.iter_sparse_layouts), (helpers.rand_bcsr, helpers.iter_bcsr_layouts)):
            for layout in layouts((2, 3, 4)):
                draw = partial(kind(self.rng(), n_batch=layout.n_batch, n_dense=layout.n_dense), (2, 3, 4), np.float32)
                x, y = draw(), draw()
                assert (x.n_batch, x.n_dense, x.nse) == (layout.n_batch, layout.n_dense, y.nse) and x.shape == (2, 3, 4)
                assert x.nse == -(-int(np.prod((2, 3, 4)[layout.n_batch:3 - layout.n_dense])) // 2)
                self._CheckBatchingSparse(lambda m: m * 2, lambda m: m * 2, lambda draw=draw: [draw()],
                                          bdims=self._random_bdims(layout.n_batch))
        assert helpers.rand_bcoo(self.rng())((2, 3), np.float32, nse=1, n_batch=1).nse == 1

    def test_against_numpy(self):
        draw = helpers.rand_sparse(self.rng())
        args = lambda: (draw((3, 4), np.float32),)
        add_up = lambda m: sparse.BCOO.fromdense(m).sum(0).todense()
        self._CheckAgainstNumpy(lambda m: m.sum(0), add_up, args, tol=1e-5)
        with pytest.raises(AssertionError):
            self._CheckAgainstNumpy(lambda m: m.sum(0) + 1, add_up, args)
        with pytest.raises(AssertionError, match="float"):
            self._CheckAgainstNumpy(lambda m: m.sum(0).astype(np.float64), add_up, args, canonicalize_dtypes=False)


def _bodies(solve):
    """Programs that solve three times: in loops, branches, and loops in loops."""
    scan = lambda b, length=3: nj.lax.scan(lambda c, _: (solve(c), c), b, None, length=length)[0]
    loop = lambda b: nj.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, solve(c[1])), (0, b))[1]
    branch = lambda b: nj.lax.cond(b[0] > -99, solve, lambda x: x, b)
    return {"scan": scan, "while": loop,
            "scan of while": lambda b: nj.lax.scan(lambda c, _: (loop(c), None), b, None, length=1)[0],
            "scan of cond": lambda b: nj.lax.scan(lambda c, _: (branch(c), None), b, None, length=3)[0],
            "scan of checkpoint": lambda b: nj.lax.scan(lambda c, _: (nj.checkpoint(solve)(c), None), b, None, length=3)[0]}


@pytest.mark.parametrize("how", ["eager", "jit", "vmap", "grad"])
@pytest.mark.parametrize("name", list(_bodies(None)))
def test_operations_with_constants_in_their_definitions_stand_in_loops(name, how):
    dense = np.array([[4, 1, 0], [0, 3, 1], [1, 0, 5]], np.float32)
    m = sparse.BCSR.fromdense(dense)
    f = _bodies(lambda b: sparse.linalg.spsolve(m.data, m.indices, m.indptr, b))[name]
    b = np.ones(3, np.float32)
    inverse = np.linalg.matrix_power(np.linalg.inv(dense), 3)
    if how == "vmap":
        close(nj.vmap(f)(jnp.stack([b, 2 * b])), np.stack([inverse @ b, 2 * inverse @ b]))
    elif how == "grad":
        reverse = nj.jit(nj.grad(lambda b: f(b).sum()))
        close(reverse(jnp.asarray(b)), inverse.T @ b)
    else:
        close((nj.jit(f) if how == "jit" else f)(jnp.asarray(b)), inverse @ b)


@pytest.mark.parametrize("dense", [0, 1])
def test_convolutions_of_sparse_and_dense_arrays(dense):
    x, y = (RNG.integers(-2, 3, (1, 1, n)).astype(np.float32) for n in (6, 3))
    operands = [sparse.BCOO.fromdense(v, n_batch=2) for v in (x, y)]
    operands[dense] = (x, y)[dense]
    convolve = partial(sparse.bcoo_conv_general_dilated, window_strides=(1,), padding="SAME")
    for call in (convolve, nj.jit(convolve)):
        close(call(*operands), nj.lax.conv_general_dilated(x, y, (1,), "SAME"))
    vectors = [sparse.BCOO.fromdense(v[0, 0]) for v in (x, y)]
    vectors[dense] = (x, y)[dense][0, 0]
    close(sparse.sparsify(jnp.convolve)(*vectors), np.convolve(x[0, 0], y[0, 0]))


@pytest.mark.parametrize(("old", "new"), [((3, 1), (3,)), ((3, 2), (6,)), ((2, 3), (1, 6)), ((2, 4), (4, 1, 2))])
@pytest.mark.parametrize("layout", [{"n_batch": 2}, {"n_dense": 2}])
def test_reshapes_of_arrays_without_sparse_axes(old, new, layout):
    x = np.arange(np.prod(old), dtype=np.float32).reshape(old)
    close(sparse.BCOO.fromdense(x, **layout).reshape(*new), x.reshape(new))


@pytest.mark.parametrize("kind", [sparse.COO, sparse.CSR, sparse.CSC])
def test_sparsify_takes_matrices_of_every_format(kind):
    x, v = kind.fromdense(MATRIX), np.arange(7, dtype=np.float32)
    for f in (lambda m: m @ v, lambda m: m.T @ v[:6], lambda m: m * 2, lambda m: m.sum(0), lambda m: v[:6] @ m):
        close(sparse.sparsify(f)(x), f(jnp.asarray(MATRIX)))
        close(nj.jit(sparse.sparsify(f))(x), f(jnp.asarray(MATRIX)))


def dense_result(function, x):
    return function(jnp.asarray(x))


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "int32"])
@pytest.mark.parametrize("name", CASES)
def test_sparsify_keeps_dtypes_through_transformations(name, dtype):
    function, x = CASES[name][0], jnp.asarray(MATRIX * 3, dtype)
    call, want = sparse.sparsify(function), np.asarray(dense_result(function, x))
    tolerance = 0.1 if dtype == "bfloat16" else 1e-4
    m = sparse.BCOO.fromdense(x)
    for found in (call(m), nj.jit(call)(m)):
        assert found.dtype == want.dtype and found.shape == want.shape
        np.testing.assert_allclose(np.asarray(sparse.todense(found), np.complex128), want.astype(np.complex128),
                                   rtol=tolerance, atol=tolerance)
    both = nj.vmap(call)(sparse.BCOO.fromdense(jnp.stack([x, x[::-1]]), n_batch=1))
    for row, of in zip(np.asarray(sparse.todense(both)), (x, x[::-1]), strict=True):
        np.testing.assert_allclose(row.astype(np.complex128), np.asarray(dense_result(function, of), np.complex128),
                                   rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in CASES if n != "loop"])
def test_gradients_through_sparsify(name):
    function, m = CASES[name][0], sparse.BCOO.fromdense(MATRIX)
    size = lambda y: jnp.sum(jnp.square(sparse.todense(y)))
    by_data = nj.grad(lambda data: size(sparse.sparsify(function)(sparse.BCOO((data, m.indices), shape=m.shape))))(m.data)
    dense = nj.grad(lambda x: size(function(x)))(jnp.asarray(MATRIX))
    np.testing.assert_allclose(by_data, dense[tuple(m.indices.T)], rtol=1e-4, atol=1e-4)
