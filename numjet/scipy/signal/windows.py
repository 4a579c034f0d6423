"""Windows under SciPy's names: static lengths and parameters, arrays of the default float dtype."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import lazy_import
from numjet.foundation.errors import ConcretizationTypeError

_windows = lazy_import.Module("scipy.signal.windows")


def _window(name: str, title: str, example: str, value: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        for v in (*args, *kwargs.values()):
            if isinstance(v, Tracer):
                raise ConcretizationTypeError(v, f"{name}: windows are made while a program is traced, so lengths and "
                                                 "parameters have to be static")
        found = getattr(_windows, name)(*args, **kwargs)
        return (jnp.asarray(found[0], dtype=float), *found[1:]) if isinstance(found, tuple) else jnp.asarray(found, dtype=float)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{title} Arguments and errors are those of SciPy's scipy.signal.windows.{name}.

    >>> [round(float(v), 3) for v in {name}{example}]
    {value}
    """
    return function


barthann = _window("barthann", "Bartlett and Hann's window.", "(3)", "[0.0, 1.0, 0.0]")
bartlett = _window("bartlett", "Bartlett's window, a triangle with zeros at the ends.", "(3)", "[0.0, 1.0, 0.0]")
blackman = _window("blackman", "Blackman's window.", "(5)", "[-0.0, 0.34, 1.0, 0.34, -0.0]")
blackmanharris = _window("blackmanharris", "Blackman and Harris's window.", "(3)", "[0.0, 1.0, 0.0]")
bohman = _window("bohman", "Bohman's window.", "(3)", "[0.0, 1.0, 0.0]")
boxcar = _window("boxcar", "The rectangular window.", "(3)", "[1.0, 1.0, 1.0]")
chebwin = _window("chebwin", "Dolph and Chebyshev's window, with side lobes `at` dB below.", "(3, 100)", "[0.5, 1.0, 0.5]")
cosine = _window("cosine", "The window of half a period of the sine.", "(3)", "[0.5, 1.0, 0.5]")
exponential = _window("exponential", "The exponential window, with decay tau.", "(3, None, 1.0)", "[0.368, 1.0, 0.368]")
flattop = _window("flattop", "The flat top window.", "(3)", "[-0.0, 1.0, -0.0]")
gaussian = _window("gaussian", "The window of Gauss's curve with a standard deviation.", "(3, 1.0)", "[0.607, 1.0, 0.607]")
general_cosine = _window("general_cosine", "The window of a sum of cosines.", "(3, [0.5, 0.5])", "[0.0, 1.0, 0.0]")
general_gaussian = _window("general_gaussian", "The generalized Gaussian window.", "(3, 1.0, 1.0)", "[0.607, 1.0, 0.607]")
general_hamming = _window("general_hamming", "The generalized window of Hamming.", "(3, 0.5)", "[0.0, 1.0, 0.0]")
hamming = _window("hamming", "Hamming's window.", "(3)", "[0.08, 1.0, 0.08]")
hann = _window("hann", "Hann's window.", "(3)", "[0.0, 1.0, 0.0]")
kaiser = _window("kaiser", "Kaiser's window with parameter beta.", "(3, 0.0)", "[1.0, 1.0, 1.0]")
lanczos = _window("lanczos", "Lanczos's window.", "(3)", "[0.0, 1.0, 0.0]")
nuttall = _window("nuttall", "Nuttall's window.", "(3)", "[0.0, 1.0, 0.0]")
parzen = _window("parzen", "Parzen's window.", "(3)", "[0.074, 1.0, 0.074]")
triang = _window("triang", "The triangular window.", "(3)", "[0.5, 1.0, 0.5]")
tukey = _window("tukey", "Tukey's window, a cosine at both ends.", "(5)", "[0.0, 1.0, 1.0, 1.0, 0.0]")
