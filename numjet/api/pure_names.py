"""Names of libraries and instructions whose meaning depends on nothing that a process may change: what `api/fingerprint.py`
accepts by name. Whatever is not listed is unproven."""
from __future__ import annotations

import opcode

BUILTINS = frozenset("""
    abs all any bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float format
    frozenset hasattr hex int isinstance issubclass iter len list map max memoryview min next object oct ord pow property
    range repr reversed round set slice sorted staticmethod str sum tuple type zip
""".split())

# Functions whose arguments are numbers, arrays and functions, and which do nothing but return a result. Those that print or
# read files, leave memory unset, share memory or write into an argument are not among them.
NUMPY = {
    "numpy": frozenset("""
        all allclose amax amin angle any append apply_along_axis apply_over_axes arange argmax argmin argpartition argsort
        argwhere around array array_equal array_equiv array_split asanyarray asarray asarray_chkfinite ascontiguousarray
        asfortranarray astype atleast_1d atleast_2d atleast_3d average bartlett base_repr binary_repr bincount blackman
        block broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip column_stack common_type compress concat
        concatenate convolve copy corrcoef correlate count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum
        delete diag diag_indices diag_indices_from diagflat diagonal diff digitize dot dsplit dstack ediff1d einsum
        einsum_path expand_dims extract eye fix flatnonzero flip fliplr flipud format_float_positional
        format_float_scientific fromfunction full full_like geomspace gradient hamming hanning histogram histogram2d
        histogram_bin_edges histogramdd hsplit hstack i0 identity imag indices inner insert interp intersect1d isclose
        iscomplex iscomplexobj isdtype isfortran isin isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_
        kaiser kron lexsort linspace logspace mask_indices matrix_transpose max mean median meshgrid min min_scalar_type
        mintypecode moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin
        nanpercentile nanprod nanquantile nanstd nansum nanvar ndim nonzero ones ones_like outer packbits pad partition
        percentile permute_dims piecewise poly polyadd polyder polydiv polyfit polyint polymul polysub polyval prod
        promote_types ptp quantile ravel ravel_multi_index real real_if_close repeat require reshape resize result_type roll
        rollaxis roots rot90 round row_stack searchsorted select setdiff1d setxor1d shape sinc size sort sort_complex split
        squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid tri tril tril_indices
        tril_indices_from trim_zeros triu triu_indices triu_indices_from typename union1d unique unique_all unique_counts
        unique_inverse unique_values unpackbits unravel_index unstack unwrap vander var vdot vsplit vstack where zeros
        zeros_like ndarray dtype finfo iinfo vectorize poly1d
    """.split()),
    "numpy.linalg": frozenset("""
        cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_rank
        matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace vecdot
        vector_norm LinAlgError
    """.split()),
    "numpy.fft": frozenset("""
        fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn
    """.split()),
    "numpy.exceptions": frozenset(("ComplexWarning", "AxisError")),
}

# Modules of which every function and class may be read.
MODULES = frozenset(("math", "_math", "cmath", "operator", "_operator", "functools", "_functools", "itertools"))

# But for these, which read attributes by their names.
MODULES_EXCEPT = frozenset(("attrgetter", "methodcaller"))

# Packages of numjet whose functions depend on their arguments and on flags only, and names in them that do not.
OWN_PACKAGES = tuple(f"numjet.{name}" for name in """
    numpy lax nn random scipy image ops control transforms ad tree tree_util flatten_util dtypes typing custom_batching
    custom_derivatives ad_checkpoint checkpoint_policies example_libraries experimental.checkify experimental.ode
    experimental.jet experimental.sparse experimental.sparse_derivatives foundation.tree foundation.dtypes foundation.util
    foundation.linear_util core api.jit api.vmap api.grad api.fwd_and_bwd api.checkify api.eager_plans api.jit_when_eager
    api.stages api.refs api.transfer api.diagnostics api.arguments api.wanted_cotangents
""".split())
OWN_EXCEPT = frozenset("""
    load loadtxt genfromtxt fromfile save savez savetxt config devices local_devices device_count local_device_count
    default_backend process_index process_count process_indices live_arrays memory_stats print_environment_info clear_caches
    multihost_utils distributed process_id deserialize explain profile visualize make_mesh get_default_device start_trace
    start_server profiler registry print_saved_residuals
    register_pytree_node register_pytree_with_keys register_static register_dataclass register_pytree_node_class
    register_pytree_with_keys_class
""".split())

# Attributes that code may read of what it computes with: numbers, texts, containers, arrays, types, results of libraries. Each
# says what the fingerprint of the object holds, or computes it. Not among them: what shows memory shared with others (`base`),
# state of the process (`devices`), or other attributes by their names (`format`, as in "{0.__globals__}"); what writes files;
# and methods of sets, whose order depends on hashes.
ATTRIBUTES = frozenset("""
    add append as_integer_ratio bit_count bit_length capitalize casefold center clear conjugate copy count decode
    denominator encode endswith expandtabs extend find from_bytes fromhex fromkeys get hex imag index indices insert
    is_integer isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper
    items join keys ljust lower lstrip maketrans numerator partition pop popitem real remove removeprefix removesuffix replace
    reverse rfind rindex rjust rpartition rsplit rstrip setdefault sort split splitlines start startswith step stop strip
    swapcase title to_bytes translate update upper values zfill
    T all any argmax argmin argpartition argsort astype at aval byteswap choose clip compress conj cumprod cumsum diagonal dot
    dtype fill flags flat flatten item itemsize mT max mean min nbytes ndim nonzero prod ptp put ravel repeat reshape round
    searchsorted set shape size squeeze std strides sum swapaxes take tobytes tolist trace transpose var view weak_type
    multiply divide power apply mul subtract c_contiguous f_contiguous writeable owndata aligned num char kind name
    newbyteorder byteorder isnative type str reduce accumulate reduceat outer at
    eps epsneg tiny bits smallest_normal resolution nmant nexp precision smallest_subnormal
    U S Vh Q R L P eigenvalues eigenvectors sign logabsdet inverse_indices inverse counts
    func args keywords num_leaves unflatten flatten_up_to num_nodes send throw close
""".split())
# Special attributes that say of an object what its fingerprint says.
SPECIAL = frozenset(f"__{name}__" for name in """
    name len getitem contains iter next call enter exit init abs add sub mul truediv floordiv mod pow matmul neg pos
    invert and or xor lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor eq ne lt le gt ge bool
    int float index array
""".split())

# Instructions that compute with local values, call functions, or read globals and captured variables. Not among them: those
# that write globals or attributes, read names of a class or module body, import, define classes, print, or wait.
INSTRUCTIONS = frozenset(opcode.opmap[name] for name in """
    CACHE POP_TOP PUSH_NULL NOP UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT BINARY_SUBSCR GET_LEN MATCH_MAPPING
    MATCH_SEQUENCE MATCH_KEYS MATCH_CLASS PUSH_EXC_INFO CHECK_EXC_MATCH CHECK_EG_MATCH WITH_EXCEPT_START BEFORE_WITH
    STORE_SUBSCR DELETE_SUBSCR GET_ITER LOAD_ASSERTION_ERROR RETURN_GENERATOR LIST_TO_TUPLE RETURN_VALUE YIELD_VALUE
    POP_EXCEPT UNPACK_SEQUENCE FOR_ITER UNPACK_EX SWAP LOAD_CONST BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP LOAD_ATTR
    COMPARE_OP JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE
    LOAD_GLOBAL IS_OP CONTAINS_OP RERAISE COPY BINARY_OP SEND LOAD_FAST STORE_FAST DELETE_FAST POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_NONE RAISE_VARARGS MAKE_FUNCTION BUILD_SLICE JUMP_BACKWARD_NO_INTERRUPT MAKE_CELL LOAD_CLOSURE
    LOAD_DEREF STORE_DEREF DELETE_DEREF JUMP_BACKWARD CALL_FUNCTION_EX EXTENDED_ARG LIST_APPEND SET_ADD MAP_ADD
    COPY_FREE_VARS RESUME MATCH_CLASS FORMAT_VALUE BUILD_CONST_KEY_MAP BUILD_STRING LOAD_METHOD LIST_EXTEND SET_UPDATE
    DICT_MERGE DICT_UPDATE PRECALL CALL KW_NAMES POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE GET_YIELD_FROM_ITER INTERPRETER_EXIT END_FOR END_SEND BINARY_SLICE
    STORE_SLICE CLEANUP_THROW RETURN_CONST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE
    POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE CALL_INTRINSIC_1 CALL_INTRINSIC_2 CALL_KW CONVERT_VALUE FORMAT_SIMPLE
    FORMAT_WITH_SPEC SET_FUNCTION_ATTRIBUTE STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST LOAD_FAST_LOAD_FAST TO_BOOL
    EXIT_INIT_CHECK LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_SPECIAL LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW
    NOT_TAKEN POP_ITER
""".split() if name in opcode.opmap)
