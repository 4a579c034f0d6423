"""Programs on several devices: which mesh `with mesh:` has put in use. All other names of JAX's module are refused when used:
XLA divides programs here, and there is nothing to call in between."""
from __future__ import annotations

from typing import Any

from numjet.core.sharding.mesh import EMPTY, current_mesh
from numjet.foundation.config import config


class _Environment:
    """What a block `with mesh:` has in use; after set_mesh there is nothing here, as in JAX."""

    @property
    def physical_mesh(self) -> Any:
        """The mesh; an empty one outside of such a block."""
        return current_mesh() if config.numjet_mesh_names_only else EMPTY

    @property
    def shape(self) -> dict[Any, int]:
        """The sizes of its axes."""
        return dict(self.physical_mesh.shape)

    @property
    def resource_axes(self) -> set[Any]:
        """The names of its axes."""
        return set(self.physical_mesh.axis_names)


class _Resources:
    env = _Environment()


thread_resources = _Resources()


def __getattr__(name: str) -> Any:
    raise AttributeError(f"numjet.interpreters.pxla.{name}: XLA divides programs, by shardings that their text says, so there "
                         "is nothing of this name here; jax.jit and jax.shard_map do what users need of it")
