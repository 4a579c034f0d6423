"""A program of which one process is killed, while the others wait for it, or for nothing."""
import os
import signal
import sys
import time

import numpy as np

import numjet as nj
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P

nj.distributed.initialize(heartbeat_timeout_seconds=5)
total = nj.jit(lambda x: x.sum())
x = nj.device_put(np.ones(3), NamedSharding(Mesh(np.array(nj.devices()), ("x",)), P("x")))
assert float(total(x)) == 3
if nj.process_index() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if nj.process_index() == 2:
    time.sleep(60)
try:
    float(total(x + 1))
except nj.errors.JaxRuntimeError:
    sys.stdout.write("an exchange failed\n")
    time.sleep(60)
