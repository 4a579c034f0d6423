"""Spherical linear interpolation: between rotations at given times the angle grows linearly."""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.numpy.core.promotion import array_arg
from numjet.scipy.spatial.transform.rotation import Rotation


class Slerp(NamedTuple):
    """Interpolation of rotations; make it with Slerp.init. A pytree.

    >>> import numjet.numpy as jnp
    >>> turn = Slerp.init(jnp.array([0.0, 2.0]), Rotation.from_euler("z", jnp.array([0.0, 90.0]), degrees=True))
    >>> turn(1.0).as_rotvec(degrees=True).round(2).tolist()
    [0.0, 0.0, 45.0]
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @staticmethod
    def init(times: Any, rotations: Rotation) -> Slerp:
        """Interpolation of N >= 2 rotations at increasing times (N,), which take the rotations' dtype. ValueError for other
        shapes."""
        if not isinstance(rotations, Rotation):
            raise TypeError(f"`rotations` must be a `Rotation` instance, got {type(rotations).__name__}")
        if rotations.single or len(rotations) < 2:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = array_arg("Slerp.init", jnp.asarray(times)).astype(rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(f"Expected times of shape ({len(rotations)},), one for each rotation, got {times.shape}")
        starts, ends = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return Slerp(times, jnp.diff(times), starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotation at a time, or those at times (M,); beyond the ends those of the first and last piece go on."""
        times = jnp.asarray(times, self.times.dtype)
        if times.ndim > 1:
            raise ValueError(f"`times` must be at most 1-dimensional, got shape {times.shape}")
        piece = jnp.clip(jnp.searchsorted(self.times, times, side="right") - 1, 0, self.timedelta.size - 1)
        part = (times - self.times[piece]) / self.timedelta[piece]
        return self.rotations[piece] * Rotation.from_rotvec(self.rotvecs[piece] * jnp.expand_dims(part, -1))
