"""Functions of SciPy on arrays that can be traced, differentiated, batched and compiled."""

# linalg.py
from numjet.scipy import linalg as linalg
