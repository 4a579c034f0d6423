"""scipy.cluster: vector quantization.
Add a module, and its name here.
"""

from numjet.scipy.cluster import vq as vq
