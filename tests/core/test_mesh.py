"""Meshes and specifications: types of axes, identity."""
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import numjet as nj
from numjet.sharding import AbstractMesh, AxisType, PartitionSpec as P


def test_meshes_say_whether_all_axes_are_of_a_type():
    kinds = (AxisType.Auto, AxisType.Explicit, AxisType.Manual)
    asked = lambda mesh: (mesh.are_all_axes_auto, mesh.are_all_axes_explicit, mesh.are_all_axes_manual)
    for kind in kinds:
        assert asked(AbstractMesh((2, 3), ("x", "y"), (kind, kind))) == tuple(kind is k for k in kinds)
    assert not any(asked(AbstractMesh((2, 3), ("x", "y"), kinds[:2])) + asked(AbstractMesh((), ())))


def test_equal_meshes_and_specifications_are_one_object():
    devices = nj.devices()[:1]
    mesh = nj.sharding.Mesh(devices, "x")
    assert nj.sharding.Mesh(np.array(devices), ("x",)) is mesh and pickle.loads(pickle.dumps(mesh)) is mesh
    assert nj.sharding.Mesh(devices, "y") is not mesh and mesh.update(axis_types=AxisType.Explicit) is not mesh
    assert P((), ("x",), ("y", "z")) is P(None, "x", ("y", "z")) and pickle.loads(pickle.dumps(P("x"))) is P("x")
    assert P("x") is not P("x", unreduced={"y"}) and P("x") != P("x", None)
    with pytest.raises(ValueError, match="read-only"):
        mesh.devices[0] = None


def test_a_mesh_is_entered_by_several_threads_at_once():
    mesh, turn = nj.sharding.Mesh(nj.devices()[:1], "x"), threading.Barrier(2, timeout=30)
    in_use = lambda: nj.sharding.get_abstract_mesh().axis_names

    def enter(number):
        with mesh:
            turn.wait()
            if number:
                with mesh:
                    turn.wait()
                return in_use()
            inside = in_use()
        turn.wait()
        return inside, in_use()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(enter, range(2))) == [(("x",), ()), ("x",)]
