"""Types of a mesh's axes."""
from numjet.sharding import AbstractMesh, AxisType


def test_meshes_say_whether_all_axes_are_of_a_type():
    kinds = (AxisType.Auto, AxisType.Explicit, AxisType.Manual)
    asked = lambda mesh: (mesh.are_all_axes_auto, mesh.are_all_axes_explicit, mesh.are_all_axes_manual)
    for kind in kinds:
        assert asked(AbstractMesh((2, 3), ("x", "y"), (kind, kind))) == tuple(kind is k for k in kinds)
    assert not any(asked(AbstractMesh((2, 3), ("x", "y"), kinds[:2])) + asked(AbstractMesh((), ())))
