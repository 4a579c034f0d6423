"""Connection of a program's processes by jaxlib's distributed runtime: a coordinator in the first process, clients in all.

They tell each other their devices, and a process that is not heard of ends the others.
"""
from __future__ import annotations

import hashlib
from itertools import count
from typing import Any

from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.processes import Cluster, state
from numjet.xla import plugin
from numjet.xla.buffers import failures


def connect(cluster: Cluster, bind_address: str | None, initialization_timeout: int, heartbeat_timeout: int,
            shutdown_timeout: int) -> None:
    """Connects this process. JaxRuntimeError where the others do not come in time, RuntimeError without jaxlib."""
    jaxlib = plugin.bindings()
    if cluster.index == 0:
        port = cluster.address.rsplit(":", 1)[1]
        state.service = jaxlib.get_distributed_runtime_service(
            bind_address or f"[::]:{port}", cluster.count, heartbeat_timeout=heartbeat_timeout,
            cluster_register_timeout=initialization_timeout, shutdown_timeout=shutdown_timeout)
    client = jaxlib.get_distributed_runtime_client(
        cluster.address, cluster.index, init_timeout=initialization_timeout, heartbeat_timeout=heartbeat_timeout,
        shutdown_timeout=shutdown_timeout, shutdown_on_destruction=False, use_compression=True)
    try:
        with failures():
            client.connect()
    except JaxRuntimeError as error:
        state.service = None
        raise JaxRuntimeError(f"distributed.initialize: process {cluster.index} of {cluster.count} was not connected with the "
                              f"coordinator at {cluster.address} within {initialization_timeout} s: {error}") from error
    state.client = client


def disconnect() -> None:
    """Waits for the other processes to do the same, and ends the connection."""
    client, service = state.client, state.service
    state.client = state.service = None
    if client is not None:
        with failures():
            client.shutdown()
    if service is not None:
        service.shutdown()


def barrier(name: str, timeout: float) -> None:
    """Waits until all processes have come to the barrier of a name."""
    with failures():
        state.client.wait_at_barrier(name, int(timeout * 1000))


def set_value(key: str, value: str) -> None:
    """Tells all processes a value under a key, for which there is none yet."""
    with failures():
        state.client.key_value_set(key, value)


def value_of(key: str, timeout: float) -> str:
    """The value under a key, once a process has told it."""
    with failures():
        return state.client.blocking_key_value_get(key, int(timeout * 1000))


def forget(key: str) -> None:
    """Drops the value under a key."""
    with failures():
        state.client.key_value_delete(key)


_checks = count(1)
_KEPT = 2  # checks whose values some process may still read
TIMEOUT = 300.0


def check_same(array: Any, what: str) -> None:
    """AssertionError where an array of the host, which goes to devices of all processes, is not the same in all of them."""
    number = next(_checks)
    mine = hashlib.sha256(f"{array.aval}".encode() + array._value.tobytes()).hexdigest()
    key = lambda n, process: f"numjet/same/{n}/{process}"
    set_value(key(number, state.index), mine)
    every = [value_of(key(number, process), TIMEOUT) for process in range(state.count)]
    if number > _KEPT:
        forget(key(number - _KEPT, state.index))
    other = next((k for k, value in enumerate(every) if value != mine), None)
    if other is not None:
        raise AssertionError(f"array of type {array.aval.str_short()} passed to {what} is not the same on each process: "
                             f"processes {state.index} and {other} have different values. Pass the same value in all, or make "
                             "the array with make_array_from_process_local_data.")
