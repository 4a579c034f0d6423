"""Filters and windows from numbers: designs are tables, which SciPy computes in double precision while a program is traced.

Orders, frequencies and parameters are static; coefficients are arrays of the default float dtype.
"""
from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import lazy_import, tree
from numjet.foundation.errors import ConcretizationTypeError

_signal = lazy_import.Module("scipy.signal")


def _static(name: str, value: Any) -> Any:
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(value, f"{name}: a filter is designed while the program is traced, so its arguments have "
                                             "to be static; design it outside of jit, or pass them as static arguments")
    return np.asarray(value) if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)) else value


def _as_arrays(found: Any) -> Any:
    """Arrays in the default dtypes; numbers as they are."""
    if isinstance(found, tuple):
        return tuple(_as_arrays(v) for v in found)
    if isinstance(found, np.ndarray):
        return jnp.asarray(found, dtype=complex if found.dtype.kind == "c" else float)
    return found


def _designed(name: str, title: str, parameters: str, example: str, value: str) -> Callable[..., Any]:
    """SciPy's function of that name on static arguments."""
    def function(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree.tree_map(functools.partial(_static, name), (args, kwargs))
        return _as_arrays(getattr(_signal, name)(*args, **kwargs))

    function.__name__ = function.__qualname__ = name
    names = [p.split("=") for p in parameters.split(", ")]
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed = []
    for p in names:
        if p[0] == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = ast.literal_eval(p[1]) if len(p) == 2 else inspect.Parameter.empty
        listed.append(inspect.Parameter(p[0], kind, default=default))
    function.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    function.__doc__ = f"""{title}

    Arguments, all static, and errors are those of SciPy's {name}({parameters}). ConcretizationTypeError for tracers.

    >>> {example}
    {value}
    """
    return function


_IIR = "N, Wn, btype='low', analog=False, output='ba', fs=None"
butter = _designed("butter", "Butterworth's filter of order N: coefficients (b, a), zeros, poles and gain, or sections (sos).",
                   _IIR,
                   "[round(float(c), 4) for c in butter(1, 0.5)[0]]", "[0.5, 0.5]")
cheby1 = _designed("cheby1", "Chebyshev's filter of type I, with ripples of rp dB in the pass band.",
                   _IIR.replace("Wn", "rp, Wn"), "[v.shape for v in cheby1(3, 1.0, 0.3)]", "[(4,), (4,)]")
cheby2 = _designed("cheby2", "Chebyshev's filter of type II, with ripples rs dB below in the stop band.",
                   _IIR.replace("Wn", "rs, Wn"), "[v.shape for v in cheby2(3, 40.0, 0.3)]", "[(4,), (4,)]")
ellip = _designed("ellip", "Cauer's elliptic filter, with ripples in both bands.", _IIR.replace("Wn", "rp, rs, Wn"),
                  "[v.shape for v in ellip(3, 1.0, 40.0, 0.3)]", "[(4,), (4,)]")
bessel = _designed("bessel", "Bessel's filter, of nearly constant delay.",
                   "N, Wn, btype='low', analog=False, output='ba', norm='phase', fs=None",
                   "[v.shape for v in bessel(3, 0.3)]", "[(4,), (4,)]")
iirfilter = _designed("iirfilter", "A recursive filter of any of these kinds.",
                      "N, Wn, rp=None, rs=None, btype='band', analog=False, ftype='butter', output='ba', fs=None",
                      "[v.shape for v in iirfilter(2, [0.2, 0.4])]", "[(5,), (5,)]")
iirnotch = _designed("iirnotch", "A recursive filter that removes the frequency w0; Q: its quality factor.", "w0, Q, fs=2.0",
                     "[v.shape for v in iirnotch(0.3, 30.0)]", "[(3,), (3,)]")
iirpeak = _designed("iirpeak", "A recursive filter that passes the frequency w0; Q: its quality factor.", "w0, Q, fs=2.0",
                    "[v.shape for v in iirpeak(0.3, 30.0)]", "[(3,), (3,)]")
buttord = _designed("buttord", "The lowest order of a Butterworth filter that keeps to limits, and its frequency.",
                    "wp, ws, gpass, gstop, analog=False, fs=None", "buttord(0.2, 0.5, 1.0, 40.0)[0]", "5")
firwin = _designed("firwin", "A linear filter of finite response by the window method.",
                   "numtaps, cutoff, *, width=None, window='hamming', pass_zero=True, scale=True, fs=None",
                   "[round(float(c), 4) for c in firwin(3, 0.5)]", "[0.0462, 0.9076, 0.0462]")
firwin2 = _designed("firwin2", "A linear filter of finite response with given gains at frequencies, by the window method.",
                    "numtaps, freq, gain, *, nfreqs=None, window='hamming', antisymmetric=False, fs=None",
                    "firwin2(5, [0.0, 0.5, 1.0], [1.0, 1.0, 0.0]).shape", "(5,)")
firls = _designed("firls", "A linear filter of finite response by least squares.",
                  "numtaps, bands, desired, *, weight=None, fs=None", "firls(5, [0, 0.3, 0.6, 1], [1, 1, 0, 0]).shape", "(5,)")
remez = _designed("remez", "A linear filter of finite response with equal ripples, by Remez's exchange.",
                  "numtaps, bands, desired, *, weight=None, type='bandpass', maxiter=25, grid_density=16, fs=None",
                  "remez(7, [0, 0.2, 0.3, 0.5], [1, 0]).shape", "(7,)")
kaiserord = _designed("kaiserord", "Length and parameter of Kaiser's window for a filter's ripple and width.", "ripple, width",
                      "int(kaiserord(60.0, 0.1)[0])", "74")
tf2sos = _designed("tf2sos", "Sections of second order of a filter (b, a).", "b, a, pairing=None, *, analog=False",
                   "tf2sos([1.0, 0.5], [1.0, -0.25]).shape", "(1, 6)")
tf2zpk = _designed("tf2zpk", "Zeros, poles and gain of a filter (b, a).", "b, a",
                   "[float(v.real[0]) for v in tf2zpk([1.0, 0.5], [1.0, -0.25])[:2]]", "[-0.5, 0.25]")
zpk2sos = _designed("zpk2sos", "Sections of second order of a filter of zeros, poles and gain.",
                    "z, p, k, pairing=None, *, analog=False", "zpk2sos([-0.5], [0.25], 1.0).shape", "(1, 6)")
zpk2tf = _designed("zpk2tf", "The filter (b, a) of zeros, poles and gain.", "z, p, k",
                   "[v.tolist() for v in zpk2tf([-0.5], [0.25], 1.0)]", "[[1.0, 0.5], [1.0, -0.25]]")
sos2tf = _designed("sos2tf", "The filter (b, a) of sections of second order.", "sos",
                   "[v.tolist() for v in sos2tf([[1.0, 0.5, 0.0, 1.0, -0.25, 0.0]])]", "[[1.0, 0.5, 0.0], [1.0, -0.25, 0.0]]")
sos2zpk = _designed("sos2zpk", "Zeros, poles and gain of sections of second order.", "sos",
                    "float(sos2zpk([[1.0, 0.5, 0.0, 1.0, -0.25, 0.0]])[2])", "1.0")
get_window = _designed("get_window", "A window by its name, or by a tuple of name and parameters.", "window, Nx, fftbins=True",
                       "[round(float(v), 4) for v in get_window('hann', 4)]", "[0.0, 0.5, 1.0, 0.5]")
