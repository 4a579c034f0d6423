"""scipy.spatial.transform: rotations in three dimensions and their interpolation.
Imports `api`, `lax`, `numpy` and `random`. Add a conversion to `quaternions`, a method to `rotation`.
"""

from numjet.scipy.spatial.transform.rotation import Rotation as Rotation
from numjet.scipy.spatial.transform.slerp import Slerp as Slerp
