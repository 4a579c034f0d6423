"""The functions by which arrays of each sparse format are made, moved and multiplied, beside dense arrays."""
import operator

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental import sparse
from numjet.experimental.sparse.transform import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    sparsify_raw,
    spvalues_to_arrays,
)

_RNG = np.random.default_rng(0)
M = np.where(_RNG.random((4, 5)) < 0.5, _RNG.normal(size=(4, 5)), 0).astype(np.float32)
B = _RNG.normal(size=(5, 3)).astype(np.float32)
BATCHED = np.where(_RNG.random((2, 4, 5)) < 0.5, 1, 0).astype(np.float32) * np.arange(1, 21, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("fromdense, todense", [
    (sparse.coo_fromdense, sparse.coo_todense), (sparse.csr_fromdense, sparse.csr_todense),
    (sparse.bcsr_fromdense, sparse.bcsr_todense), (sparse.bcoo_fromdense, sparse.bcoo_todense)])
def test_to_and_from_dense(fromdense, todense):
    found = fromdense(M)
    assert found.nse == np.count_nonzero(M)
    np.testing.assert_array_equal(todense(found), M)
    np.testing.assert_array_equal(nj.jit(lambda x: todense(fromdense(x, nse=20)))(M), M)
    slope = nj.grad(lambda data: (todense(_with_data(found, data)) ** 2).sum())(found.data)
    np.testing.assert_allclose(slope, 2 * found.data, rtol=1e-6)


def _with_data(x, data):
    leaves, structure = nj.tree.flatten(x)
    k = next(i for i, leaf in enumerate(leaves) if leaf.dtype == np.float32)
    return nj.tree.unflatten(structure, [*leaves[:k], data, *leaves[k + 1:]])


@pytest.mark.parametrize("fromdense, of_vector, of_matrix", [
    (sparse.coo_fromdense, sparse.coo_matvec, sparse.coo_matmat), (sparse.csr_fromdense, sparse.csr_matvec, sparse.csr_matmat)])
def test_products_of_matrices(fromdense, of_vector, of_matrix):
    x = fromdense(M)
    for transpose, dense in ((False, M), (True, M.T)):
        v, w = np.ones(dense.shape[1], np.float32), np.ones((dense.shape[1], 3), np.float32)
        np.testing.assert_allclose(of_vector(x, v, transpose), dense @ v, rtol=1e-5, atol=1e-6)
        product = nj.jit(lambda x, w, t=transpose: of_matrix(x, w, transpose=t))(x, w)
        np.testing.assert_allclose(product, dense @ w, rtol=1e-5, atol=1e-6)
    slope = nj.grad(lambda v: of_vector(x, v).sum())(np.ones(5, np.float32))
    np.testing.assert_allclose(slope, M.sum(0), rtol=1e-5, atol=1e-6)


def test_bcsr():
    x, y = sparse.bcsr_fromdense(M), sparse.bcsr_fromdense(BATCHED, n_batch=1)
    np.testing.assert_allclose(sparse.bcsr_dot_general(x, B, dimension_numbers=(((1,), (0,)), ((), ()))), M @ B, rtol=1e-5)
    np.testing.assert_array_equal(sparse.bcsr_todense(y), BATCHED)
    np.testing.assert_array_equal(sparse.bcsr_extract(x.indices, x.indptr, M), x.data)
    joined = sparse.bcsr_concatenate([x, x], dimension=0)
    np.testing.assert_array_equal(joined.todense(), np.concatenate([M, M]))
    spread = sparse.bcsr_broadcast_in_dim(x, shape=(3, 4, 5), broadcast_dimensions=(1, 2))
    np.testing.assert_array_equal(spread.todense(), np.broadcast_to(M, (3, 4, 5)))
    twice = sparse.BCSR((jnp.ones(3), jnp.array([1, 1, 2]), jnp.array([0, 2, 3])), shape=(2, 3))
    once = sparse.bcsr_sum_duplicates(twice)
    assert once.nse == 2
    np.testing.assert_array_equal(once.todense(), [[0, 2, 0], [0, 0, 1]])


def test_bcoo():
    x = sparse.BCOO.fromdense(M)
    np.testing.assert_array_equal(sparse.bcoo_transpose(x, permutation=(1, 0)).todense(), M.T)
    np.testing.assert_array_equal(sparse.bcoo_reshape(x, new_sizes=(2, 10)).todense(), M.reshape(2, 10))
    np.testing.assert_array_equal(sparse.bcoo_reshape(x, new_sizes=(5, 4), dimensions=(1, 0)).todense(), M.T.reshape(5, 4))
    backwards = sparse.BCOO((x.data[::-1], x.indices[::-1]), shape=x.shape)
    in_order = sparse.bcoo_sort_indices(backwards)
    np.testing.assert_array_equal(in_order.indices, x.indices)
    np.testing.assert_array_equal(in_order.data, x.data)
    twice = sparse.BCOO((jnp.array([1.0, 2.0, 3.0]), jnp.array([[1, 0], [0, 1], [1, 0]])), shape=(2, 2))
    once = sparse.bcoo_sum_duplicates(twice)
    assert once.nse == 2
    np.testing.assert_array_equal(once.todense(), [[0, 2], [4, 0]])
    np.testing.assert_array_equal(nj.jit(lambda x: sparse.bcoo_sum_duplicates(x, nse=3))(twice).todense(), [[0, 2], [4, 0]])
    for batch, dense in ((1, 0), (0, 1), (1, 1), (2, 0)):
        other = sparse.bcoo_update_layout(x, n_batch=batch, n_dense=dense, on_inefficient=None)
        assert (other.n_batch, other.n_dense) == (batch, dense)
        np.testing.assert_array_equal(other.todense(), M)


@pytest.mark.parametrize("mode", [None, "clip"])
def test_bcoo_gather(mode):
    numbers = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    places = np.array([[0, 0], [2, 3], [1, 2]], np.int32)
    found = sparse.bcoo_gather(sparse.BCOO.fromdense(M), places, numbers, (2, 2), mode=mode)
    np.testing.assert_array_equal(found.todense(), lax.gather(M, places, numbers, (2, 2), mode=mode))
    with pytest.raises(NotImplementedError, match="clamped"):
        sparse.bcoo_gather(sparse.BCOO.fromdense(M), places, numbers, (2, 2), mode="fill")


def test_values_by_reference_share_buffers():
    x = sparse.BCOO.fromdense(jnp.arange(5.0))
    env = SparsifyEnv([x.indices, x.data, 2 * x.data])
    values = [env.sparse(x.shape, data_ref=k, indices_ref=0, unique_indices=True) for k in (1, 2)]
    (dense, total), structure = sparsify_raw(lambda a, b: {"total": a + b, "sum": b.sum()})(env, *values)
    assert structure == nj.tree.structure({"total": 0, "sum": 0})
    assert total.indices_ref == 0 and total.is_bcoo() and total.ndim == 1 and dense.is_dense()
    np.testing.assert_array_equal(spvalues_to_arrays(env, total).todense(), 3 * jnp.arange(5.0))
    assert env.data(dense) == 20
    with pytest.raises(ValueError, match="expected a value with indices"):
        env.indices(dense)
    with pytest.raises(ValueError, match="expected either data or data_ref"):
        env.sparse((5,), indices_ref=0)


def test_values_by_reference_of_each_format():
    env = SparsifyEnv()
    given = [M, sparse.BCOO.fromdense(M), {"rows": sparse.BCSR.fromdense(M)}]
    values = arrays_to_spvalues(env, given)
    assert values[:2] == [SparsifyValue((4, 5), 0), SparsifyValue((4, 5), 1, 2, None, True, True)]
    assert values[2]["rows"].is_bcsr() and env.indptr(values[2]["rows"]).shape == (5,)
    back = spvalues_to_arrays(env, values)
    assert nj.tree.structure(back) == nj.tree.structure(nj.tree.map(jnp.asarray, given))
    np.testing.assert_array_equal(back[2]["rows"].todense(), M)
    with pytest.raises(TypeError, match="expected BCOO or BCSR"):
        arrays_to_spvalues(env, sparse.COO.fromdense(M))


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
def test_sparse_arrays_do_not_compare_as_objects(compare):
    x = sparse.BCOO.fromdense(M)
    for left, right in ((x, x), (x, 1.0), (1.0, x)):
        with pytest.raises(NotImplementedError, match=r"sparse rule for .* is not implemented"):
            compare(left, right)


def test_reasons_for_missing_rules():
    x = sparse.BCOO.fromdense(M)
    with pytest.raises(NotImplementedError, match=r"^sparse rule for complex is not implemented\.$"):
        sparse.sparsify(lax.complex)(x, x)
    for fn in (lax.cos, lambda v: v > -1, lambda v: v < 1, lambda v: 2.0 ** v):
        with pytest.raises(NotImplementedError, match="is not implemented because it would result in dense output"):
            sparse.sparsify(fn)(x)


@pytest.mark.parametrize("use_tracer", [False, True])
def test_tracers_of_sparsify(use_tracer):
    seen = []
    fn = sparse.sparsify(lambda x: seen.append(isinstance(x, sparse.SparseTracer)) or x, use_tracer=use_tracer)
    for x in (jnp.arange(5), sparse.BCOO.fromdense(M)):
        fn(x)
    nj.jit(lambda x: seen.append(isinstance(x, sparse.SparseTracer)) or x)(M)
    assert seen == [use_tracer, use_tracer, False] and not isinstance(jnp.ones(2), sparse.SparseTracer)


def test_branches_of_different_formats_are_named():
    x = sparse.BCOO.fromdense(M)
    fn = sparse.sparsify(lambda p, x, y: lax.cond(p, lambda: x, lambda: y))
    np.testing.assert_array_equal(fn(True, x, 2 * x).todense(), M)
    with pytest.raises(TypeError, match=r"sparsified true_fun output .* sparsified false_fun output"):
        fn(True, x, M)
    pick = sparse.sparsify(lambda i, x: lax.switch(i, [lambda: x, lambda: 2 * x, lambda: -x]))
    np.testing.assert_array_equal(pick(1, x).todense(), 2 * M)
