"""Signal processing, under SciPy's names: convolutions, filters, spectra, trends.
Imports `numpy` and `lax`. Add a function to the file of its kind, and its name here.
"""

from numjet.numpy.core import taped as _taped
from numjet.scipy.signal.convolution import (
    convolve as convolve, convolve2d as convolve2d, correlate as correlate, correlate2d as correlate2d,
    fftconvolve as fftconvolve,
)
from numjet.scipy.signal.design import (
    bessel as bessel, butter as butter, buttord as buttord, cheby1 as cheby1, cheby2 as cheby2, ellip as ellip, firls as firls,
    firwin as firwin, firwin2 as firwin2, get_window as get_window, iirfilter as iirfilter, iirnotch as iirnotch,
    iirpeak as iirpeak, kaiserord as kaiserord, remez as remez, sos2tf as sos2tf, sos2zpk as sos2zpk, tf2sos as tf2sos,
    tf2zpk as tf2zpk, zpk2sos as zpk2sos, zpk2tf as zpk2tf,
)
from numjet.scipy.signal.filters import (
    filtfilt as filtfilt, lfilter as lfilter, lfilter_zi as lfilter_zi, savgol_coeffs as savgol_coeffs,
    savgol_filter as savgol_filter, sosfilt as sosfilt, sosfilt_zi as sosfilt_zi, sosfiltfilt as sosfiltfilt,
)
from numjet.scipy.signal.peaks import find_peaks as find_peaks, peak_prominences as peak_prominences, peak_widths as peak_widths
from numjet.scipy.signal.resampling import (
    correlation_lags as correlation_lags, freqz as freqz, hilbert as hilbert, resample as resample,
    resample_poly as resample_poly, sosfreqz as sosfreqz, upfirdn as upfirdn,
)
from numjet.scipy.signal.resampling import sosfreqz as freqz_sos  # noqa: F401
from numjet.scipy.signal.short_time import istft as istft, spectrogram as spectrogram, stft as stft
from numjet.scipy.signal.spectra import coherence as coherence, csd as csd, periodogram as periodogram, welch as welch
from numjet.scipy.signal import windows as windows
from numjet.scipy.signal.trends import detrend as detrend

_taped.library(vars())
