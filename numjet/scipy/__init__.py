"""Functions of SciPy on arrays that can be traced, differentiated, batched and compiled.
Imports `api`, `lax` and `numpy`; its modules are those of `jax.scipy`.
Add a special function to the `special_` file of its kind, a distribution as a module of `stats`.
"""

# linalg.py
from numjet.scipy import linalg as linalg
