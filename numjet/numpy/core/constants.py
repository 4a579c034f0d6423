"""Named constants, as in NumPy."""
from __future__ import annotations

import numpy as np

e: float = np.e
euler_gamma: float = np.euler_gamma
inf: float = np.inf
nan: float = np.nan
newaxis = None
pi: float = np.pi
