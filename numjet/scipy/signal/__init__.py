"""Signal processing, under SciPy's names: convolutions, filters, spectra, trends.
Imports `numpy` and `lax`. Add a function to the file of its kind, and its name here.
"""

from numjet.scipy.signal.convolution import (
    convolve as convolve, convolve2d as convolve2d, correlate as correlate, correlate2d as correlate2d,
    fftconvolve as fftconvolve,
)
from numjet.scipy.signal.filters import (
    filtfilt as filtfilt, lfilter as lfilter, lfilter_zi as lfilter_zi, savgol_coeffs as savgol_coeffs,
    savgol_filter as savgol_filter, sosfilt as sosfilt, sosfilt_zi as sosfilt_zi, sosfiltfilt as sosfiltfilt,
)
from numjet.scipy.signal.short_time import istft as istft, spectrogram as spectrogram, stft as stft
from numjet.scipy.signal.spectra import csd as csd, welch as welch
from numjet.scipy.signal.trends import detrend as detrend
