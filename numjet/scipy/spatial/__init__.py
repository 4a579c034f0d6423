"""scipy.spatial: rotations in space.
Add a module, and its name here.
"""

from numjet.scipy.spatial import transform as transform
