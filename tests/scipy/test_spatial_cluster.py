"""numjet.scipy.spatial.transform and numjet.scipy.cluster.vq against SciPy, with derivatives at special rotations."""
from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.cluster.vq as sp_vq
import scipy.spatial.transform as sp

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.foundation.config import enable_x64
from numjet.scipy.cluster.vq import vq
from numjet.scipy.spatial.transform import Rotation, Slerp

QUATS = np.concatenate([np.random.default_rng(0).standard_normal((6, 4)), np.eye(4), -np.eye(4)])
SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def both(index):
    return Rotation.from_quat(QUATS[index]), sp.Rotation.from_quat(QUATS[index])


@pytest.mark.parametrize("index", [0, slice(None)])
def test_conversions(index):
    ours, theirs = both(index)
    for name in ("as_matrix", "as_rotvec", "as_mrp", "as_quat", "magnitude"):
        np.testing.assert_allclose(getattr(ours, name)(), getattr(theirs, name)(), atol=1e-14, err_msg=name)
    options = {"canonical": True, "scalar_first": True}
    np.testing.assert_allclose(ours.as_quat(**options), theirs.as_quat(**options))
    for make, of in (("from_matrix", "as_matrix"), ("from_rotvec", "as_rotvec"), ("from_mrp", "as_mrp")):
        got = getattr(Rotation, make)(getattr(theirs, of)()).as_matrix()
        np.testing.assert_allclose(got, theirs.as_matrix(), atol=1e-14, err_msg=make)
    np.testing.assert_allclose(ours.as_rotvec(degrees=True), theirs.as_rotvec(degrees=True), atol=1e-12)


@pytest.mark.parametrize("seq", SEQUENCES + [s.upper() for s in SEQUENCES])
def test_euler_angles(seq):
    angles = np.concatenate([np.random.default_rng(1).uniform(-3, 3, (5, 3)), np.zeros((1, 3)), [[0.3, np.pi / 2, -0.2]],
                             [[0.3, 0, -0.2]]])
    ours, theirs = Rotation.from_euler(seq, angles), sp.Rotation.from_euler(seq, angles)
    np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-14)
    back = ours.as_euler(seq, degrees=True)
    np.testing.assert_allclose(Rotation.from_euler(seq, back, degrees=True).as_matrix(), theirs.as_matrix(), atol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of gimbal lock
        want = theirs.as_euler(seq, degrees=True)
    np.testing.assert_allclose((back - want + 180) % 360, 180, atol=1e-5)


def test_few_axes():
    for seq, angles in (("z", 0.3), ("z", [[0.3], [0.4]]), ("xy", [0.1, 0.2]), ("XY", [[0.1, 0.2]] * 2)):
        want = sp.Rotation.from_euler(seq, angles).as_matrix()
        np.testing.assert_allclose(Rotation.from_euler(seq, jnp.array(angles)).as_matrix(), want, atol=1e-15)


def test_arithmetic():
    (p, q), (r, s) = both(slice(0, 5)), both(slice(3, 8))
    vectors = np.random.default_rng(2).standard_normal((5, 3))
    np.testing.assert_allclose((p * r).as_matrix(), (q * s).as_matrix(), atol=1e-14)
    np.testing.assert_allclose((p * r[0]).as_matrix(), (q * s[0]).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(p.inv().as_matrix(), q.inv().as_matrix(), atol=1e-14)
    for inverse in (False, True):
        np.testing.assert_allclose(p.apply(vectors, inverse), q.apply(vectors, inverse), atol=1e-14)
        np.testing.assert_allclose(p[0].apply(vectors, inverse), q[0].apply(vectors, inverse), atol=1e-14)
        np.testing.assert_allclose(p.apply(vectors[0], inverse), q.apply(vectors[0], inverse), atol=1e-14)
    for weights in (None, np.arange(5) + 1.0):
        np.testing.assert_allclose(p.mean(weights).as_matrix(), q.mean(weights).as_matrix(), atol=1e-12)
    assert len(p) == 5 and len(p[1:]) == 4 and p[2].single and not p.single
    assert len(Rotation.concatenate([p, p[0]])) == 6
    np.testing.assert_allclose(Rotation.identity(3).as_matrix(), np.tile(np.eye(3), (3, 1, 1)))


def test_random_rotations_are_uniform():
    r = Rotation.random(random.key(0), 2000)
    moved = np.asarray(r.apply(jnp.array([1.0, 0.0, 0.0])))
    assert np.abs(moved.mean(0)).max() < 0.06 and np.abs((moved ** 2).mean(0) - 1 / 3).max() < 0.04


def test_slerp():
    times, at = np.array([0.0, 1.0, 3.0]), np.array([-0.0, 0.4, 1.0, 1.5, 3.0])
    ours = Slerp.init(times, Rotation.from_quat(QUATS[:3]))
    want = sp.Slerp(times, sp.Rotation.from_quat(QUATS[:3]))(at).as_matrix()
    np.testing.assert_allclose(nj.jit(lambda s, t: s(t).as_matrix())(ours, at), want, atol=1e-12)
    assert ours(0.5).single


def test_derivatives_at_special_rotations():
    for v in (jnp.zeros(3), jnp.array([1e-5, 0.0, 0.0]), jnp.array([0.3, -0.2, 0.1])):
        round_trip = lambda v: Rotation.from_rotvec(v).as_rotvec()
        for mode in (nj.jacfwd, nj.jacrev):
            np.testing.assert_allclose(mode(round_trip)(v), np.eye(3), atol=1e-9)
    assert jnp.all(jnp.isfinite(nj.hessian(lambda v: jnp.sum(Rotation.from_rotvec(v).as_matrix() ** 3))(jnp.zeros(3))))


def test_vmap():
    got = nj.vmap(lambda v, w: (Rotation.from_rotvec(v) * Rotation.from_rotvec(w)).as_matrix())(QUATS[:, :3], QUATS[:, 1:])
    want = (sp.Rotation.from_rotvec(QUATS[:, :3]) * sp.Rotation.from_rotvec(QUATS[:, 1:])).as_matrix()
    np.testing.assert_allclose(got, want, atol=1e-13)


@pytest.mark.parametrize("call,error,match", [
    (lambda r: r[0][0], TypeError, "not subscriptable"),
    (lambda r: len(r[0]), TypeError, "no len"),
    (lambda r: Rotation.from_euler("xyw", jnp.zeros(3)), ValueError, "Expected axes"),
    (lambda r: Rotation.from_euler("xxy", jnp.zeros(3)), ValueError, "consecutive axes"),
    (lambda r: Rotation.from_euler("xyz", jnp.zeros(2)), ValueError, "num_axes"),
    (lambda r: r.as_euler("xy"), ValueError, "Expected 3 axes"),
    (lambda r: Rotation.from_quat(jnp.zeros(3)), ValueError, "expected shape"),
    (lambda r: r.mean(jnp.ones(3)), ValueError, "weights"),
    (lambda r: Slerp.init(jnp.arange(3.0), r), ValueError, "times"),
    (lambda r: Slerp.init(jnp.arange(1.0), r[0]), ValueError, "at least 2"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(Rotation.from_quat(QUATS[:2]))


# -------------------------------------------------------------------------------------------- vq

@pytest.mark.parametrize("shape,codes", [((20, 3), (4, 3)), ((20,), (4,)), ((0, 3), (4, 3)), ((5, 1), (1, 1))])
def test_vq(shape, codes):
    rng = np.random.default_rng(0)
    obs, book = rng.standard_normal(shape), rng.standard_normal(codes)
    code, distance = nj.jit(vq)(obs, book)
    if shape[0]:
        want = sp_vq.vq(obs, book)
        np.testing.assert_array_equal(code, want[0])
        np.testing.assert_allclose(distance, want[1], rtol=1e-12)
    assert code.shape == distance.shape == shape[:1]


@pytest.mark.parametrize("obs,book", [((3, 2), (2,)), ((3, 2), (2, 3)), ((3, 2), (0, 2)), ((1, 1, 1), (1, 1, 1))])
def test_vq_errors(obs, book):
    with pytest.raises(ValueError, match=r"rank|expected|ndim"):
        vq(jnp.ones(obs), jnp.ones(book))


def test_vq_of_complex_numbers():
    code, distance = vq(jnp.array([3 + 4j, 1j]), jnp.array([0.0, 2j]))
    assert code.tolist() == [1, 0]
    np.testing.assert_allclose(distance, [np.hypot(3, 2), 1])


@pytest.mark.parametrize("times", [np.float16, np.float32, np.float64, np.int32])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_interpolated_rotations_keep_their_dtype(dtype, times):
    with enable_x64(True):
        turns = Slerp.init(jnp.arange(2, dtype=times), Rotation.from_rotvec(jnp.ones((2, 3), dtype)))
        assert {part.dtype for part in (*turns[:2], turns.rotvecs, turns(jnp.float64(0.5)).as_quat())} == {np.dtype(dtype)}
