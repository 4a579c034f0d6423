"""Functions for neural networks, under JAX's names."""

from numjet.nn import initializers as initializers

# activations.py
from numjet.nn.activations import celu as celu
from numjet.nn.activations import elu as elu
from numjet.nn.activations import gelu as gelu
from numjet.nn.activations import glu as glu
from numjet.nn.activations import hard_sigmoid as hard_sigmoid
from numjet.nn.activations import hard_silu as hard_silu
from numjet.nn.activations import hard_swish as hard_swish
from numjet.nn.activations import hard_tanh as hard_tanh
from numjet.nn.activations import identity as identity
from numjet.nn.activations import leaky_relu as leaky_relu
from numjet.nn.activations import log1mexp as log1mexp
from numjet.nn.activations import log_sigmoid as log_sigmoid
from numjet.nn.activations import mish as mish
from numjet.nn.activations import one_hot as one_hot
from numjet.nn.activations import relu as relu
from numjet.nn.activations import relu6 as relu6
from numjet.nn.activations import selu as selu
from numjet.nn.activations import sigmoid as sigmoid
from numjet.nn.activations import silu as silu
from numjet.nn.activations import soft_sign as soft_sign
from numjet.nn.activations import softplus as softplus
from numjet.nn.activations import sparse_plus as sparse_plus
from numjet.nn.activations import sparse_sigmoid as sparse_sigmoid
from numjet.nn.activations import squareplus as squareplus
from numjet.nn.activations import swish as swish
from numjet.nn.activations import tanh as tanh

# attention.py
from numjet.nn.attention import dot_product_attention as dot_product_attention

# normalization.py
from numjet.nn.normalization import log_softmax as log_softmax
from numjet.nn.normalization import logmeanexp as logmeanexp
from numjet.nn.normalization import logsumexp as logsumexp
from numjet.nn.normalization import softmax as softmax
from numjet.nn.normalization import standardize as standardize
