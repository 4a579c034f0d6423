"""Names of NumPy that arrays of numbers have no use for, each with what to write instead."""
from __future__ import annotations

_INSTEAD = {
    "asmatrix bmat matrix": "arrays are not matrices; use two axes and the operator @",
    "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat timedelta64":
        "programs compute with numbers; make these of dates by NumPy first, as in (dates - dates[0]) / np.timedelta64(1, 'D')",
    "flatiter nditer nested_iters": "arrays have no iterators over elements; use whole arrays, vmap, or lax.fori_loop",
    "broadcast": "use broadcast_arrays or broadcast_shapes",
    "poly1d": "use functions of arrays of coefficients: polyval, polyadd, polymul, polyder, roots",
    "errstate geterr geterrcall seterr seterrcall":
        "floating-point errors give NaN and infinity; set jax_debug_nans to find where, or use checkify",
    "getbufsize setbufsize": "there are no buffers of ufuncs; leave the call out",
    "bytes_ record recarray str_ void": "arrays hold numbers and booleans; keep text in NumPy, and records in a dict of arrays",
    "clongdouble complex256 float128 longdouble": "floats have at most 64 bits; use float64 or complex128 under jax_enable_x64",
    "fromregex memmap": "read with NumPy, and hand the result to asarray",
    "get_include info show_config show_runtime test": "it tells of NumPy itself; call NumPy's",
}
INSTEAD = {name: text for names, text in _INSTEAD.items() for name in names.split()}
