"""Rotations in three dimensions, held as unit quaternions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet import random
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.spatial.transform import quaternions


def _floats(name: str, x: Any, *ends: tuple[int, ...]) -> Any:
    """x as floats; ValueError unless its shape ends with one of `ends`."""
    x = promote_dtypes_inexact(array_arg(f"Rotation.{name}", jnp.asarray(x)))[0]
    if not any(x.ndim >= len(end) and x.shape[x.ndim - len(end):] == end for end in ends):
        raise ValueError(f"Rotation.{name}: expected shape {' or '.join(f'{end} or (N, {str(end)[1:]}' for end in ends)}, got "
                         f"{x.shape}")
    return x


class Rotation(NamedTuple):
    """A rotation, or an array of rotations, in three dimensions, held as unit quaternions (x, y, z, w).

    A pytree. Make it with one of the functions from_*. `r * s` turns by s, then by r; `r[i]` and len(r) are about arrays
    of rotations.

    >>> import numjet.numpy as jnp
    >>> Rotation.from_euler("z", 90.0, degrees=True).apply(jnp.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 1.0, 0.0]
    """

    quat: Any

    @staticmethod
    def concatenate(rotations: Sequence[Rotation]) -> Rotation:
        """One array of rotations of several."""
        return Rotation(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @staticmethod
    def from_euler(seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Turns about axes in order: letters of XYZ about axes that turn along, of xyz about fixed ones.

        angles: (len(seq),), or (N, len(seq)), or for one letter a number or (N,), of which (1,) is one rotation. ValueError
        for others.
        """
        quaternions.check_sequence(seq)
        angles = promote_dtypes_inexact(array_arg("Rotation.from_euler", jnp.asarray(angles)))[0]
        if len(seq) == 1 and angles.shape != (1,) and angles.ndim <= 1:
            angles = jnp.expand_dims(angles, -1)
        if angles.ndim not in (1, 2) or angles.shape[-1] != len(seq):
            raise ValueError(f"Expected angles to have shape (num_rotations, num_axes) with {len(seq)} axes, got "
                             f"{angles.shape}")
        return Rotation(quaternions.from_euler(seq, jnp.radians(angles) if degrees else angles))

    @staticmethod
    def from_matrix(matrix: Any) -> Rotation:
        """Rotation matrices (3, 3) or (N, 3, 3), which are taken as orthogonal."""
        return Rotation(quaternions.from_matrix(_floats("from_matrix", matrix, (3, 3))))

    @staticmethod
    def from_mrp(mrp: Any) -> Rotation:
        """Modified Rodrigues parameters (3,) or (N, 3): axis times tan(angle / 4)."""
        return Rotation(quaternions.from_mrp(_floats("from_mrp", mrp, (3,))))

    @staticmethod
    def from_quat(quat: Any) -> Rotation:
        """Quaternions (4,) or (N, 4) as (x, y, z, w), which are normalized."""
        return Rotation(quaternions.normalized(_floats("from_quat", quat, (4,))))

    @staticmethod
    def from_rotvec(rotvec: Any, degrees: bool = False) -> Rotation:
        """Vectors (3,) or (N, 3): axis times angle."""
        rotvec = _floats("from_rotvec", rotvec, (3,))
        return Rotation(quaternions.from_rotvec(jnp.radians(rotvec) if degrees else rotvec))

    @staticmethod
    def identity(num: int | None = None, dtype: Any = float) -> Rotation:
        """No turn, or an array of num."""
        one = jnp.array([0.0, 0.0, 0.0, 1.0], dtype)
        return Rotation(one if num is None else jnp.tile(one, (num, 1)))

    @staticmethod
    def random(random_key: Any, num: int | None = None) -> Rotation:
        """Uniform random rotations: Shoemake 1992, as normalized normal numbers."""
        return Rotation.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        return Rotation(quaternions.compose(self.quat, other.quat))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors (3,) or (N, 3) turned, or turned back; one rotation or one vector goes with all of the other."""
        q = quaternions.inverse(self.quat) if inverse else self.quat
        return quaternions.rotate(q, _floats("apply", vectors, (3,)))

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Angles (3,) or (N, 3) about the three axes of seq, as of from_euler; the outer ones in [-pi, pi]."""
        quaternions.check_sequence(seq)
        if len(seq) != 3:
            raise ValueError(f"Expected 3 axes, got {seq}.")
        angles = quaternions.to_euler(self.quat, seq)
        return jnp.degrees(angles) if degrees else angles

    def as_matrix(self) -> Any:
        """Matrices (3, 3) or (N, 3, 3)."""
        return quaternions.to_matrix(self.quat)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters (3,) or (N, 3)."""
        return quaternions.to_mrp(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Vectors (3,) or (N, 3): axis times angle."""
        rotvec = quaternions.to_rotvec(self.quat)
        return jnp.degrees(rotvec) if degrees else rotvec

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Quaternions (x, y, z, w), or (w, x, y, z); canonical: of q and -q the one with w >= 0."""
        q = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, axis=-1) if scalar_first else q

    def inv(self) -> Rotation:
        """The turns back."""
        return Rotation(quaternions.inverse(self.quat))

    def magnitude(self) -> Any:
        """The angles, in [0, pi]."""
        return quaternions.angle(self.quat)

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation with the least weighted sum of squared chordal distances: Markley et al. 2007."""
        q = jnp.atleast_2d(self.quat)
        if weights is None:
            weights = jnp.ones(q.shape[0], q.dtype)
        weights = jnp.asarray(weights, q.dtype)
        if weights.shape != (q.shape[0],):
            raise ValueError(f"Expected `weights` to have number of values equal to number of rotations ({q.shape[0]}), got "
                             f"shape {weights.shape}")
        _, vectors = jnp.linalg.eigh(jnp.matmul(jnp.expand_dims(weights, 0) * q.T, q))
        return Rotation(vectors[:, -1])

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not an array."""
        return self.quat.ndim == 1
