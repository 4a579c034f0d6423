"""Meshes as libraries read them."""
from numjet.core.sharding.mesh import EMPTY, Mesh as Mesh, current_mesh


def get_concrete_mesh() -> Mesh:
    """The mesh of devices in use, inside of `jit` too; an empty one where there is none, or only an abstract one."""
    mesh = current_mesh()
    return mesh if isinstance(mesh, Mesh) else EMPTY
