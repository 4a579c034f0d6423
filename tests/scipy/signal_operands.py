"""The functions of scipy.signal on signals of every kind."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import scipy.signal as sp

from numjet.scipy import signal
from tests.operands import COMPLEX, EMPTY, KINDS, SPECIAL, Case, Elsewhere, extended, of_numbers, reversed_last

_RNG = np.random.default_rng(6)


def _normal(*shape: int) -> np.ndarray:
    return _RNG.normal(0, 2, shape)


# Signals along the last axis, longer than the filters.
_SIGNALS: dict[str, np.ndarray] = {
    **KINDS, "float16": _normal(2, 12).astype(np.float16), "bfloat16": _normal(2, 12).astype(ml_dtypes.bfloat16),
    "float64 transposed": _normal(12, 1, 2).T, "int32 of rank 4": _RNG.integers(-4, 5, (2, 1, 1, 12)).astype(np.int32),
    "int64": _RNG.integers(-4, 5, 12), "uint8": _RNG.integers(0, 6, (2, 12)).astype(np.uint8), "bool": _normal(2, 12) > 0,
    "complex64": (_normal(2, 12) + 1j * _normal(2, 12)).astype(np.complex64),
    "complex128 transposed": (_normal(12, 2) + 1j * _normal(12, 2)).T,
    "NaN in one of two signals": np.where(np.arange(24).reshape(2, 12) == 14, np.nan, _normal(2, 12)).astype(np.float32)}
_MATRICES = {**{kind: x for kind, x in KINDS.items() if x.ndim in (0, 1, 2)}, "float64 matrix": _normal(4, 3).T}
_VECTORS = {kind: x if x.ndim < 2 else x.reshape(-1)[:x.shape[-1]] for kind, x in _SIGNALS.items()}
_NO_AXIS = {"rank 0": "there is no axis"}
_NO_SAMPLES = {"empty": "no samples"}
_COMPLEX_SEGMENTS = dict.fromkeys(EMPTY, "complex, as other transforms; SciPy: floats of another shape")
_ENDS = {"uint8": "floats go on at the ends; SciPy's wrap around in uint8"}
_WIDE_NAN = {"special values reversed": "NaN in other places of a row that holds NaN"}
_SPREAD = dict.fromkeys(SPECIAL, "by sums with zeros or transforms, NaN where SciPy has numbers")


def _start(x: np.ndarray) -> np.ndarray:
    """The first two elements along each axis: a filter."""
    return x[(slice(0, 2),) * x.ndim]


_MODES = [{"mode": mode} for mode in ("full", "same", "valid")]
_B, _A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.25])
_SOS = sp.butter(4, 0.3, output="sos")
_SEGMENTS = {"nperseg": 6}
_SPECTRA: list[dict[str, Any]] = [
    {}, {"noverlap": 2, "window": "boxcar"}, {"nfft": 9, "fs": 10.0}, {"detrend": "linear", "scaling": "spectrum"},
    {"detrend": False, "return_onesided": False}]
_AVERAGED = [*_SPECTRA, {"average": "median"}]


def _filtered(function: Callable[..., Any], *filters: Any) -> Callable[..., Any]:
    return lambda x, **options: function(*filters, x, **options)


def _with_segments(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs, **options: function(*xs, **{**_SEGMENTS, **options})


def _spectral(name: str, operands: Any, options: list[dict[str, Any]], **more: Any) -> Case:
    ours, theirs = getattr(signal, name), getattr(sp, name)
    if name not in ("periodogram", "hilbert"):
        ours, theirs = _with_segments(ours), _with_segments(theirs)
    return Case(ours, theirs, operands, options, **{"kinds": _SIGNALS, "tolerance": 20, **more})


def _sections(x: np.ndarray) -> np.ndarray:
    """Rows of six numbers as second-order sections, whose fourth number is 1."""
    if x.shape[-1:] != (6,):
        return x
    fourth = np.arange(6) == 3
    return x * (~fourth).astype(x.dtype) + fourth.astype(x.dtype)


def _same(x: np.ndarray) -> np.ndarray:
    return x


CASES: dict[str, Case] = {
    **{name: Case(getattr(signal, name), getattr(sp, name), [_same, _start], _MODES, tolerance=20,
                  decided={**_SPREAD, "empty of rank 3": "JAX refuses some of these; another shape than SciPy's"},
                  dtypes="floats") for name in ("convolve", "correlate", "fftconvolve")},
    **{f"{name} by {method}": Case(getattr(signal, name), getattr(sp, name), [_same, _start], [{"method": method}],
                                   tolerance=20, decided={**_SPREAD, "bool": "sums, as in JAX; SciPy: True"}, dtypes="floats")
       for name in ("convolve", "correlate") for method in ("direct", "fft")},
    "fftconvolve along axes": Case(signal.fftconvolve, sp.fftconvolve, [_same, reversed_last], [{"axes": -1}, {"axes": (0, 1)}],
                                   tolerance=20, dtypes="floats", refused=_NO_AXIS,
                                   decided={**_SPREAD, **dict.fromkeys(EMPTY, "SciPy drops axes, and ignores `axes`")}),
    **{name: Case(getattr(signal, name), getattr(sp, name), [_same, _start], _MODES, kinds=_MATRICES, tolerance=20,
                  decided={"special values": _SPREAD["special values"]}, dtypes="floats",
                  refused={kind: "no matrix" for kind, x in _MATRICES.items() if x.ndim < 2}, differentiated="float64 matrix")
       for name in ("convolve2d", "correlate2d")},
    "detrend": Case(signal.detrend, sp.detrend, options=[{}, {"type": "constant"}, {"axis": 0}, {"bp": [0, 5]}],
                    kinds=_SIGNALS, tolerance=20),
    "lfilter": Case(_filtered(signal.lfilter, _B, _A), _filtered(sp.lfilter, _B, _A), options=[{}, {"axis": 0}],
                    kinds=_SIGNALS, tolerance=20),
    "lfilter of coefficients": Case(lambda b: signal.lfilter(b, _A, np.cos(np.arange(9.0))),
                                    lambda b: sp.lfilter(b, _A, np.cos(np.arange(9.0))), kinds=_VECTORS, tolerance=20),
    "lfilter_zi": Case(lambda b: signal.lfilter_zi(b, _A), lambda b: sp.lfilter_zi(b, _A), kinds=_VECTORS, tolerance=20,
                       refused=dict.fromkeys(EMPTY, "no coefficients")),
    "filtfilt": Case(_filtered(signal.filtfilt, _B, _A), _filtered(sp.filtfilt, _B, _A), kinds=_SIGNALS, tolerance=20,
                     decided=_ENDS,
                     options=[{}, {"padtype": "even", "padlen": 3}, {"padtype": "constant"}, {"padtype": None}]),
    "sosfilt": Case(_filtered(signal.sosfilt, _SOS), _filtered(sp.sosfilt, _SOS), options=[{}, {"axis": 0}], kinds=_SIGNALS,
                    tolerance=20),
    "sosfiltfilt": Case(_filtered(signal.sosfiltfilt, _SOS), _filtered(sp.sosfiltfilt, _SOS), kinds=_SIGNALS, tolerance=20,
                     decided=_ENDS,
                        options=[{"padlen": 5}, {"padtype": "even", "padlen": 3}, {"padtype": None}]),
    "sosfilt_zi": Case(lambda x: signal.sosfilt_zi(_SOS * x), lambda x: sp.sosfilt_zi(_SOS * x), [lambda x: np.ones_like(x)],
                       kinds={"rank 0": np.array(1, np.float32), "float64": np.array(1.0), "int32": np.array(1, np.int32)},
                       tolerance=20),
    "savgol_filter": Case(_filtered(lambda x, **o: signal.savgol_filter(x, 5, 2, **o)),
                          _filtered(lambda x, **o: sp.savgol_filter(x, 5, 2, **o)), kinds=_SIGNALS, tolerance=20,
                          refused=_NO_SAMPLES, decided=dict.fromkeys(COMPLEX, "complex; SciPy drops the imaginary part"),
                          options=[{}, {"mode": "mirror"}, {"mode": "constant", "cval": 2.0}, {"mode": "nearest", "deriv": 1},
                                   {"mode": "wrap"}]),
    "hilbert": _spectral("hilbert", [_same], [{}, {"N": 9}, {"N": 15}, {"axis": 0}],
                         refused=dict.fromkeys(COMPLEX, "signals are real"), decided=_WIDE_NAN),
    "resample": Case(lambda x, num=8, **o: signal.resample(x, num, axis=-1, **o),
                     lambda x, num=8, **o: sp.resample(x, num, axis=-1, **o), kinds=_SIGNALS, tolerance=20,
                     options=[{}, {"num": 15}, {"window": "hann"}], decided=_WIDE_NAN),
    "resample_poly": Case(lambda x, **o: signal.resample_poly(x, 3, 2, axis=-1, **o),
                          lambda x, **o: sp.resample_poly(x, 3, 2, axis=-1, **o), kinds=_SIGNALS, tolerance=20,
                          options=[{}, {"padtype": "mean"}, {"padtype": "line"}, {"window": "hann"}], refused=_NO_SAMPLES,
                          decided=dict.fromkeys(("size 1", "size 1 of rank 3"), "a flat line through one sample; SciPy: NaN")),
    "upfirdn": Case(lambda x, **o: signal.upfirdn(_B, x, **o), lambda x, **o: sp.upfirdn(_B, x, **o), kinds=_SIGNALS,
                    tolerance=20, options=[{}, {"up": 3, "down": 2}, {"up": 2, "axis": 0}],
                    refused=_NO_SAMPLES, decided=_SPREAD),
    "periodogram": _spectral("periodogram", [_same], [o for o in _SPECTRA if "noverlap" not in o]),
    "welch": _spectral("welch", [_same], _AVERAGED),
    "csd": _spectral("csd", [_same, reversed_last], _AVERAGED, decided=_COMPLEX_SEGMENTS),
    "coherence": _spectral("coherence", [_same, reversed_last], [{}, {"window": "boxcar", "noverlap": 2, "detrend": False},
                                                                  {"nfft": 9}]),
    "spectrogram": _spectral("spectrogram", [_same], [{}, *({"mode": mode} for mode in (
        "complex", "magnitude", "angle", "phase"))], decided={"empty of rank 3": _COMPLEX_SEGMENTS["empty"]}),
    "stft": _spectral("stft", [_same], [{}, {"boundary": None, "padded": False},
                                                {"boundary": "even", "return_onesided": False}],
                      decided=_COMPLEX_SEGMENTS),
    "istft": Case(lambda z, **o: signal.istft(z, nperseg=6, **o), lambda z, **o: sp.istft(z, nperseg=6, **o),
                  [lambda x: np.stack([x, 2 * x, x, x[..., ::-1]], -2) if x.ndim else x], [{}, {"boundary": False}],
                  kinds=_SIGNALS, tolerance=20, decided=_WIDE_NAN),
    "freqz": Case(lambda b, **o: signal.freqz(b, _A, **{"worN": 5, **o}), lambda b, **o: sp.freqz(b, _A, **{"worN": 5, **o}),
                  kinds=_VECTORS, options=[{}, {"whole": True}, {"include_nyquist": True, "fs": 2.0}], tolerance=20),
    **{name: Case(lambda s, name=name, **o: getattr(signal, name)(s, 5, **o), lambda s, **o: sp.freqz_sos(s, 5, **o),
                  [_sections],
                  kinds={kind: x.reshape(-1, 6) if kind not in ("rank 0", "empty") and x.size % 6 == 0 else x
                         for kind, x in _SIGNALS.items()}, options=[{}, {"whole": True}], tolerance=20)
       for name in ("freqz_sos", "sosfreqz")},
    "find_peaks": Case(lambda x, **o: _with_properties(signal.find_peaks(x, **o)),
                       lambda x, **o: _with_properties(sp.find_peaks(x, **o)), kinds=_VECTORS,
                       options=[{}, {"height": 0.3}, {"distance": 2}, {"prominence": 0.5, "width": 0.5}],
                       dtypes="heights have the dtype of the signal",
                       refused=dict.fromkeys(COMPLEX, "complex numbers have no order"),
                       not_compiled="the number of peaks depends on values; with size= in test_signal_sampling.py",
                       not_smooth="needs size= under derivatives, too"),
    **{name: Case(lambda x, name=name: getattr(signal, name)(x, np.array([2, 5])),
                  lambda x, name=name: getattr(sp, name)(x, np.array([2, 5])), kinds=_VECTORS, tolerance=20)
       for name in ("peak_prominences", "peak_widths")}}


def _with_properties(found: Any) -> list[Any]:
    return [found[0], *(found[1][key] for key in sorted(found[1]))]


_NOT_FINITE = "NaN; SciPy refuses it in least squares"
_SPECIAL_SIGNALS = ("special values", "special values reversed", "NaN in one of two signals")
# Kinds that only SciPy refuses.
UNANSWERED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("convolve by fft", "correlate by fft"), dict.fromkeys(EMPTY, "no signals, no sums")),
    "detrend": {**dict.fromkeys(EMPTY, "no samples, no trend"), **dict.fromkeys(_SPECIAL_SIGNALS, _NOT_FINITE)},
    **dict.fromkeys(("periodogram", "welch", "csd"), dict.fromkeys(_SPECIAL_SIGNALS, _NOT_FINITE)),
    "savgol_filter": dict.fromkeys(("special values", "NaN in one of two signals"), _NOT_FINITE),
    "sosfilt": {"empty": "no samples"}, "freqz": dict.fromkeys(EMPTY, "no coefficients, no response")}
for _name, _kinds in UNANSWERED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered=_kinds)
for _name in ("convolve", "correlate", "convolve2d", "correlate2d", "freqz_sos", "sosfreqz"):  # of bool, which SciPy refuses
    CASES[_name] = dataclasses.replace(CASES[_name], theirs=extended(CASES[_name].theirs, of_numbers(CASES[_name].theirs)))

_DESIGNS = "designs a filter of numbers while programs are traced; takes no arrays to trace"
ELSEWHERE: dict[str, Elsewhere] = {
    **{name: Elsewhere("scipy/test_signal_sampling.py", _DESIGNS) for name in (
        "bessel butter buttord cheby1 cheby2 ellip firls firwin firwin2 get_window iirfilter iirnotch iirpeak kaiserord remez "
        "sos2tf sos2zpk tf2sos tf2zpk zpk2sos zpk2tf").split()},
    "correlation_lags": Elsewhere("scipy/test_signal_sampling.py", "takes lengths"),
    "savgol_coeffs": Elsewhere("scipy/test_signal_filters.py", "takes lengths and degrees")}
