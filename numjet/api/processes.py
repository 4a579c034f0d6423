"""Programs of several processes: each is started alike, and has some of the devices."""
from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from typing import Any

from numjet.foundation import processes
from numjet.foundation.config import config
from numjet.foundation.processes import Cluster, state
from numjet.runtime import backends
from numjet.runtime.device import become_process, devices_are_known

_state = {"initialized": False}


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, cluster_detection_method: str | None = None,
               initialization_timeout: int = 300, heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None, partition_index: int | None = None
               ) -> None:
    """Begins a program of several processes, before anything else: connects them, so that each sees the devices of all.

    What is not given is taken from the variables JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID, or from the
    launcher: Slurm, Open MPI, a Kubernetes indexed job. `python -m numjet.tools.launch` starts processes on one machine.

    Args:
      coordinator_address: "host:port" of the process 0, which listens there.
      num_processes, process_id: how many there are, and which this is, from 0 on.
      local_device_ids: of a GPU's process, which of the host's GPUs are its own. Not for the CPU.
      cluster_detection_method: "slurm", "ompi" or "k8s": ask that launcher; "deactivate": none.
      initialization_timeout, shutdown_timeout_seconds: how long processes wait for each other at the start and the end.
      heartbeat_timeout_seconds: processes end with an error when another was not heard of for so long.
      coordinator_bind_address: where process 0 listens; default: at the same port of all its addresses.
      slice_index, partition_index: of TPUs; others do not have them.
    Raises:
      RuntimeError: when called twice, or after devices were used. ValueError: when something is missing.
      JaxRuntimeError: when the processes do not find each other in time.

    >>> initialize("localhost:12345", num_processes=1, process_id=0)
    >>> is_initialized()
    True
    >>> shutdown()
    """
    if slice_index is not None or partition_index is not None:
        raise NotImplementedError("distributed.initialize: slice_index and partition_index are for TPUs in several slices, "
                                  "which are not supported: leave them out")
    if local_device_ids is not None and config.platforms not in ("gpu", "cuda"):
        raise ValueError(f"distributed.initialize: local_device_ids={local_device_ids} names GPUs, and the platform is "
                         f"{config.platforms or 'cpu'}: leave it out; jax_num_cpu_devices says how many devices the CPU "
                         "counts as")
    if _state["initialized"]:
        raise RuntimeError("distributed.initialize should only be called once.")
    said = processes.given()
    address = coordinator_address or said.get("coordinator_address")
    count = said.get("num_processes") if num_processes is None else num_processes
    index = said.get("process_id") if process_id is None else process_id
    if None in (address, count, index):
        found = processes.detect(cluster_detection_method)
        if found is not None:
            address = address or found.address
            count, index = (found.count if count is None else count), (found.index if index is None else index)
    cluster = _checked(address, count, index)
    if cluster.count > 1 and devices_are_known():
        raise RuntimeError("distributed.initialize: jax.distributed.initialize() must be called before any JAX calls that "
                           "might initialise the XLA backend: devices were used already. Call it at the start of the program.")
    if cluster.count > 1:
        for name, seconds in (("initialization_timeout", initialization_timeout),
                              ("heartbeat_timeout_seconds", heartbeat_timeout_seconds),
                              ("shutdown_timeout_seconds", shutdown_timeout_seconds)):
            if seconds <= 0:
                raise ValueError(f"distributed.initialize: {name} must be positive, got {seconds}")
        bind = coordinator_bind_address or said.get("coordinator_bind_address")
        backends.load_processes().connect(cluster, bind, initialization_timeout, heartbeat_timeout_seconds,
                                          shutdown_timeout_seconds)
        become_process(cluster.index, cluster.count)
    _state["initialized"] = True


def _checked(address: str | None, count: int | None, index: int | None) -> Cluster:
    if address is None and count in (None, 1) and index in (None, 0):
        if count is None:
            raise ValueError("coordinator_address should be defined: distributed.initialize found no launcher (Slurm, Open "
                             "MPI, Kubernetes), and neither arguments nor variables say it. Pass "
                             "coordinator_address, num_processes and process_id, or start the program by "
                             "python -m numjet.tools.launch.")
        return Cluster("", 1, 0)
    if address is None:
        raise ValueError("coordinator_address should be defined: distributed.initialize of several processes needs the "
                         "\"host:port\" of process 0, the same in all")
    if count is None:
        raise ValueError("Number of processes must be defined: distributed.initialize needs num_processes")
    if index is None:
        raise ValueError("The process id of the current process must be defined: distributed.initialize needs process_id")
    if not 0 <= index < count:
        raise ValueError(f"distributed.initialize: expected process_id from 0 to {count - 1}, as num_processes is {count}, "
                         f"got {index}")
    if ":" not in address or not address.rsplit(":", 1)[1].isdigit():
        raise ValueError(f"distributed.initialize: coordinator_address must be \"host:port\", got {address!r}")
    return Cluster(address, count, index)


def shutdown() -> None:
    """Ends what initialize began; waits for the other processes to come here, too."""
    if state.client is not None:
        backends.load_processes().disconnect()
    _state["initialized"] = False


def is_initialized() -> bool:
    """Whether initialize was called."""
    return _state["initialized"]


@atexit.register
def _at_exit() -> None:
    """Ends the connection, unless the process ends by an error: then the others must not wait, but hear that it is gone."""
    failed: Any = getattr(sys, "last_value", None)
    if state.client is not None and failed is None:
        shutdown()
