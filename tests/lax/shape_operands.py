"""Rows of operands for the functions of numjet.lax that move, join and select elements, and files that test all others."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet import lax
from tests.operands import COMPLEX, KINDS, Case, Elsewhere, itself, reversed_last

_NO_AXIS = {"rank 0": "there is no axis"}
_NO_PLACE = {**_NO_AXIS, "empty": "there is no element"}
_WITH_PLACES = {kind: x for kind, x in KINDS.items() if kind not in _NO_PLACE}  # others are IndexErrors, here and there
_NO_ORDER = dict.fromkeys(COMPLEX, "complex numbers have no order")
_AXES = tuple({"axis": axis} for axis in (0, -1))


def _pair(ours: Any, theirs: Any, **fields: Any) -> Case:
    return Case(ours, theirs, (itself, reversed_last), **fields)


def _padded(x: np.ndarray) -> np.ndarray:
    return np.pad(x, [(1, 2)] * x.ndim)


def _replaced(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    out = np.moveaxis(x.copy(), axis, 0)
    out[-1] = np.moveaxis(y, axis, 0)[0]
    return np.moveaxis(out, 0, axis)


def _sorted_pairs(x: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(x, axis=-1, kind="stable")
    return [np.take_along_axis(v, order, -1) for v in (x, np.flip(x, -1))]


def _largest(x: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(np.flip(x, -1), axis=-1, kind="stable")[..., ::-1]
    places = (x.shape[-1] - 1 - order)[..., :1].astype(np.int32)
    return [np.take_along_axis(x, places, -1), places]


def _spread(x: Any, rank: int) -> Any:
    return x.reshape((1,) * (rank - x.ndim) + x.shape)


CASES: dict[str, Case] = {
    "broadcast": Case(lambda x: lax.broadcast(x, (2, 0 if x.ndim > 3 else 3)),
                      lambda x: np.broadcast_to(x, (2, 0 if x.ndim > 3 else 3, *x.shape))),
    "broadcast_to_rank": Case(lambda x: lax.broadcast_to_rank(x, 4), lambda x: _spread(x, 4)),
    "broadcast_like": Case(lambda x: lax.broadcast_like(x, np.zeros((2, *x.shape), np.int8)),
                           lambda x: np.broadcast_to(x, (2, *x.shape))),
    "broadcast_in_dim": Case(lambda x: lax.broadcast_in_dim(x, (*x.shape, 2), range(x.ndim)),
                             lambda x: np.repeat(x[..., None], 2, -1)),
    "collapse": Case(lambda x: lax.collapse(x, 0, 2 if x.ndim > 1 else 1),
                     lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]) if x.ndim > 1 else x.reshape(-1),
                     decided={"rank 0": "as it is, as in JAX"}),
    "expand_dims": Case(lambda x: lax.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": Case(lambda x: lax.squeeze(x[None, ..., None], (0, -1)), itself),
    "rev": Case(lambda x: lax.rev(x, range(x.ndim)), np.flip),
    "transpose": Case(lambda x: lax.transpose(x, tuple(range(x.ndim))[::-1]), np.transpose),
    "reshape": Case(lambda x: lax.reshape(x, (x.size,)), np.ravel),
    "full_like": Case(lambda x: lax.full_like(x, 1), np.ones_like),
    "zeros_like_array": Case(lax.zeros_like_array, np.zeros_like),
    "stack": _pair(lambda x, y, axis: lax.stack([x, y], axis), lambda x, y, axis: np.stack([x, y], axis), options=_AXES),
    "concatenate": _pair(lambda x, y: lax.concatenate([x, y], 0), lambda x, y: np.concatenate([x, y]), refused=_NO_AXIS),
    "unstack": Case(lambda x: list(lax.unstack(x, -1)), lambda x: list(np.moveaxis(x, -1, 0)), refused=_NO_AXIS),
    "split": Case(lambda x: lax.split(x, (0, x.shape[0]), 0), lambda x: [x[:0], x], kinds=_WITH_PLACES),
    "pad": Case(lambda x: lax.pad(x, x.dtype.type(0), [(1, 2, 0)] * x.ndim), _padded,
                unanswered={"rank 0": "the number, which has no axis to pad"}),
    "slice_in_dim": Case(lambda x, axis: lax.slice_in_dim(x, None, None, 2, axis),
                         lambda x, axis: np.moveaxis(np.moveaxis(x, axis, 0)[::2], 0, axis), options=_AXES, refused=_NO_AXIS),
    "index_in_dim": Case(lambda x, axis: lax.index_in_dim(x, -1, axis), lambda x, axis: np.take(x, [x.shape[axis] - 1], axis),
                         options=_AXES, kinds=_WITH_PLACES),
    "index_take": Case(lambda x: lax.index_take(x, [np.array([0, -1])], [0]), lambda x: np.take(x, [0, x.shape[0] - 1], 0),
                       kinds=_WITH_PLACES),
    "dynamic_index_in_dim": Case(lambda x, axis: lax.dynamic_index_in_dim(x, np.int32(9), axis, False),
                                 lambda x, axis: np.take(x, x.shape[axis] - 1, axis), options=_AXES, refused=_NO_PLACE),
    "dynamic_slice_in_dim": Case(lambda x, axis: lax.dynamic_slice_in_dim(x, np.int32(9), 1, axis),
                                 lambda x, axis: np.take(x, [x.shape[axis] - 1], axis), options=_AXES, refused=_NO_PLACE),
    "dynamic_update_slice_in_dim": _pair(
        lambda x, y, axis: lax.dynamic_update_slice_in_dim(x, lax.slice_in_dim(y, 0, 1, axis=axis), np.int32(9), axis),
        _replaced, options=_AXES, refused=_NO_PLACE),
    "dynamic_update_index_in_dim": _pair(
        lambda x, y, axis: lax.dynamic_update_index_in_dim(x, lax.index_in_dim(y, 0, axis, False), np.int32(9), axis),
        _replaced, options=_AXES, kinds=_WITH_PLACES),
    "dynamic_slice": Case(lambda x: lax.dynamic_slice(x, [np.int32(1)] * x.ndim, [min(n, 1) for n in x.shape]),
                          lambda x: x[tuple(slice(min(n - 1, 1), 2) if n else slice(0) for n in x.shape)]),
    "dynamic_update_slice": _pair(lambda x, y: lax.dynamic_update_slice(x, y, [0] * x.ndim), lambda x, y: y),
    "sort_key_val": Case(lambda x: list(lax.sort_key_val(x, lax.rev(x, [x.ndim - 1]))), _sorted_pairs,
                         refused=_NO_AXIS),
    "top_k": Case(lambda x: lax.top_k(x, 1), _largest, refused={**_NO_PLACE, **_NO_ORDER}),
    "dot": _pair(lambda x, y: lax.dot(x.ravel(), y.ravel()), lambda x, y: np.dot(x.ravel(), y.ravel()).astype(x.dtype),
                 tolerance=4),
    "batch_matmul": _pair(
        lambda x, y: lax.batch_matmul(x.reshape(1, 1, -1), y.reshape(1, -1, 1)),
        lambda x, y: np.matmul(x.reshape(1, 1, -1), y.reshape(1, -1, 1)).astype(x.dtype), tolerance=4)}


_FILES: dict[str, tuple[str, str]] = {  # file: its functions, and why they have no row
    "control/branches/test_cond.py": ("cond switch", "of functions"),
    "control/branches/test_platform.py": ("platform_dependent", "of functions"),
    "control/call/test_composite.py": ("composite", "of functions"),
    "control/custom/test_solve.py": ("custom_linear_solve custom_root", "of functions"),
    "control/loops/test_associative.py": ("associative_scan", "of functions"),
    "control/loops/test_scan.py": ("scan map", "of functions"),
    "control/loops/test_while_loop.py": ("fori_loop while_loop", "of functions"),
    "lax/collective/test_moves.py": (
        "all_gather all_to_all axis_index axis_size pbroadcast ppermute precv psend pshuffle psum psum_scatter pswapaxes "
        "ragged_all_to_all", "of the elements of a named axis"),
    "lax/collective/test_reductions.py": ("pmax pmean pmin", "of the elements of a named axis"),
    "sharding/eight_devices/shards.py": ("pcast", "of the elements of a named axis"),
    "testing/test_programs.py": ("pvary", "of the elements of a named axis"),
    "lax/contraction/test_convolution.py": (
        "conv_dimension_numbers conv_general_dilated conv_general_dilated_local conv_general_dilated_patches "
        "conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose conv_transpose_shape_tuple "
        "conv_with_general_padding", "of images and filters"),
    "lax/contraction/test_dot.py": ("dot_general", "of two operands with dimension numbers"),
    "lax/contraction/test_ragged.py": ("ragged_dot ragged_dot_general scaled_dot", "of groups or blocks with sizes or scales"),
    "lax/elementwise/test_dual_numbers.py": ("igamma_grad_a random_gamma_grad", "of two operands in a domain"),
    "lax/elementwise/test_elementwise.py": (
        "bitcast_convert_type broadcasted_iota clz convert_element_type full iota mulhi reduce_precision select_n shift_left "
        "shift_right_arithmetic shift_right_logical stop_gradient", "of shapes, dtypes, or pairs of dtypes"),
    "lax/elementwise/test_special.py": ("betainc igamma igammac polygamma zeta", "of operands in a domain"),
    "lax/indexing/test_gather_scatter.py": (
        "gather scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub", "with dimension numbers"),
    "lax/indexing/test_slicing.py": ("slice", "by limits of every axis"),
    "lax/linalg/test_linalg.py": ("complex", "of two real parts"),
    "lax/reduction/test_reduce.py": ("empty reduce", "of shapes, and of functions"),
    "lax/reduction/test_window.py": ("padtype_to_pads reduce_window reduce_window_shape_tuple", "of functions, and of shapes"),
    "lax/rng/test_bit_generator.py": ("rng_bit_generator rng_uniform", "random"),
    "lax/shape/test_join.py": ("tile", "by repetitions of every axis"),
    "lax/shape/test_rearrange.py": ("broadcast_shapes", "of shapes"),
    "lax/shape/test_stacking.py": ("approx_max_k approx_min_k shape_as_value stage with_sharding_constraint",
                                   "of shapes, of values as they are, or of one row"),
    "lax/test_barrier.py": ("after_all create_token dce_sink optimization_barrier", "of tokens and of values as they are"),
    "lax/test_errors.py": ("conv", "of images and filters"),
    "lax/test_fft.py": ("fft", "of transforms with lengths"),
    "foundation/test_dtypes.py": ("dtype", "of dtypes")}
ELSEWHERE: dict[str, Elsewhere] = {
    name: Elsewhere(file, reason) for file, (names, reason) in _FILES.items() for name in names.split()}
