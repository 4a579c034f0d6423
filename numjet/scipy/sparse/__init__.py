"""scipy.sparse: solvers of linear systems that are given by their products.
Add a module, and its name here.
"""

from numjet.scipy.sparse import linalg as linalg
