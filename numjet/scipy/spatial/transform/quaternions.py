"""Unit quaternions (x, y, z, w) along the last axis, from and to other forms of rotations."""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import numjet.numpy as jnp

_AXES = {"x": 0, "y": 1, "z": 2}
_EYE = np.eye(3)
_LOCKED = 1e-7   # of the middle angle: so near to 0 or pi the outer axes coincide


def _parts(q: Any) -> tuple[Any, Any]:
    """The vector and the scalar, which keeps its axis."""
    return q[..., :3], q[..., 3:]


def _join(vector: Any, scalar: Any) -> Any:
    return jnp.concatenate([vector, scalar], axis=-1)


def norm(x: Any) -> Any:
    """The norms of vectors; their axis is kept. 0 has the derivative 0."""
    square = jnp.sum(x * x, axis=-1, keepdims=True)
    return jnp.where(square == 0, 0, jnp.sqrt(jnp.where(square == 0, 1, square)))


def normalized(q: Any) -> Any:
    """q / |q|; NaN for 0."""
    return q / norm(q)


def compose(p: Any, q: Any) -> Any:
    """The quaternion product p q: first q, then p."""
    (u, a), (v, b) = _parts(p), _parts(q)
    u, v = jnp.broadcast_arrays(u, v)
    return _join(a * v + b * u + jnp.cross(u, v), a * b - jnp.sum(u * v, axis=-1, keepdims=True))


def inverse(q: Any) -> Any:
    """The inverse of a unit quaternion."""
    vector, scalar = _parts(q)
    return _join(-vector, scalar)


def canonical(q: Any) -> Any:
    """q or -q, the same rotation: the first of w, x, y, z that is not 0 becomes positive."""
    vector, scalar = _parts(q)
    x, y, z = (vector[..., k:k + 1] for k in range(3))
    first = jnp.where(scalar != 0, scalar, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where(first < 0, -q, q)


# -------------------------------------------------------------------------------------------- matrices

def to_matrix(q: Any) -> Any:
    """Rotation matrices (..., 3, 3)."""
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: Any) -> Any:
    """Markley 2008, "Unit quaternion from rotation matrix": the largest component decides which formula is taken."""
    diagonal = [m[..., k, k] for k in range(3)]
    trace = diagonal[0] + diagonal[1] + diagonal[2]
    skew = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
    candidates = []
    for i in range(3):
        parts = [m[..., i, j] + m[..., j, i] if j != i else 1 - trace + 2 * diagonal[i] for j in range(3)]
        candidates.append(jnp.stack([*parts, skew[i]], axis=-1))
    candidates.append(jnp.stack([*skew, 1 + trace], axis=-1))
    choice = jnp.argmax(jnp.stack([*diagonal, trace], axis=-1), axis=-1)
    chosen = jnp.take_along_axis(jnp.stack(candidates, axis=-2), choice[..., None, None], axis=-2)[..., 0, :]
    return normalized(chosen)


# -------------------------------------------------------------------------------------------- vectors

def _half_sinc(angle: Any) -> Any:
    """sin(angle / 2) / angle, with all derivatives at 0."""
    return jnp.sinc(angle / (2 * math.pi)) / 2


def from_rotvec(v: Any) -> Any:
    """Rotations about v by |v|."""
    angle = norm(v)
    return _join(_half_sinc(angle) * v, jnp.cos(angle / 2))


def to_rotvec(q: Any) -> Any:
    """The axis times the angle, which is at most pi."""
    vector, scalar = _parts(canonical(q))
    size = norm(vector)
    small = size < 1e-3
    square = jnp.square(jnp.where(small, size, 0))
    series = 2 + square / 3 + 3 * jnp.square(square) / 20     # 2 asin(size) / size
    safe = jnp.where(small, 1, size)
    return jnp.where(small, series, 2 * jnp.arctan2(safe, scalar) / safe) * vector


def from_mrp(v: Any) -> Any:
    """From modified Rodrigues parameters: the axis times tan(angle / 4)."""
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    return _join(2 * v, 1 - square) / (1 + square)


def to_mrp(q: Any) -> Any:
    """Modified Rodrigues parameters, of an angle of at most pi."""
    vector, scalar = _parts(q)
    sign = jnp.where(scalar < 0, -1, 1)
    return sign * vector / (1 + sign * scalar)


def angle(q: Any) -> Any:
    """The angle in [0, pi]; without the last axis."""
    vector, scalar = _parts(q)
    return (2 * jnp.arctan2(norm(vector), abs(scalar)))[..., 0]


def rotate(q: Any, vectors: Any) -> Any:
    """Vectors (..., 3) turned by q: v + 2 w (u x v) + 2 u x (u x v)."""
    u, w = _parts(q)
    u, v = jnp.broadcast_arrays(u, vectors)
    t = 2 * jnp.cross(u, v)
    return v + w * t + jnp.cross(u, t)


# -------------------------------------------------------------------------------------------- Euler angles

def check_sequence(seq: str) -> None:
    """ValueError unless seq is one to three letters of xyz or of XYZ, neighbours different."""
    if not 1 <= len(seq) <= 3:
        raise ValueError(f"Expected axis specification to be a non-empty string of upto 3 characters, got {seq!r}")
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq!r}")
    if any(a == b for a, b in itertools.pairwise(seq)):
        raise ValueError(f"Expected consecutive axes to be different, got {seq!r}")


def from_euler(seq: str, angles: Any) -> Any:
    """Turns by angles[..., k] about the axes of seq: upper case about the turned axes, lower case about fixed ones."""
    axes = [jnp.asarray(_EYE[_AXES[axis]], angles.dtype) for axis in seq.lower()]
    turns = [from_rotvec(angles[..., k:k + 1] * axis.reshape(*[1] * (angles.ndim - 1), 3)) for k, axis in enumerate(axes)]
    out = turns[0]
    for turn in turns[1:]:
        out = compose(out, turn) if seq.isupper() else compose(turn, out)
    return out


def to_euler(q: Any, seq: str) -> Any:
    """Bernardes and Viollet 2022, "Quaternion to Euler angles conversion: a direct, general and computationally efficient
    method".

    Where the first and the third axis coincide, only the sum or the difference of their angles counts; the last one is 0."""
    fixed = seq.islower()
    i, j, k = (_AXES[axis] for axis in (seq.lower() if fixed else seq.lower()[::-1]))
    symmetric = i == k
    if symmetric:
        k = 3 - i - j
    sign = float((i - j) * (j - k) * (k - i) // 2)
    a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
    if not symmetric:
        a, b, c, d = a - c, b + d, c + a, d - b
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    start, end = abs(middle) < _LOCKED, abs(middle - math.pi) < _LOCKED
    both = 2 * jnp.where(start, half_sum, -half_difference if fixed else half_difference)
    locked, free = start | end, (half_sum - half_difference, half_sum + half_difference)
    first, third = (jnp.where(locked, x, y) for x, y in zip((both, 0) if fixed else (0, both), free, strict=True))
    if not symmetric:
        third, middle = third * sign, middle - math.pi / 2
    out = [first, middle, third] if fixed else [third, middle, first]
    return jnp.remainder(jnp.stack(out, axis=-1) + math.pi, 2 * math.pi) - math.pi
