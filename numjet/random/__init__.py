from numjet.random.keys import *
from numjet.random.basic import bits, uniform, normal, randint, bernoulli, rademacher
