"""The processes of a program: how many there are, which this one is, and what launchers say about them."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from numjet.foundation.record import Record

_FIRST_PORT, _PORTS = 61440, 4096  # programs of several jobs on a host choose different ones


class Cluster(Record):
    """Where the coordinator is, how many processes there are, which this is, and which it is on its host."""
    address: str
    count: int
    index: int
    local_index: int | None = None


class _State:
    """This process among those of the program. `client`: jaxlib's, once they are connected; `service`: in the first one."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.count, self.index = 1, 0
        self.client: Any = None
        self.service: Any = None


state = _State()


def given(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What JAX's variables say of the coordinator's address, the number of processes, and the number of this one."""
    names = {"coordinator_address": "COORDINATOR_ADDRESS", "num_processes": "NUM_PROCESSES", "process_id": "PROCESS_ID",
             "coordinator_bind_address": "COORDINATOR_BIND_ADDRESS"}
    found: dict[str, Any] = {}
    for key, name in names.items():
        value = environ.get(f"NUMJET_{name}", environ.get(f"JAX_{name}"))
        if value:
            found[key] = value if key.endswith("address") else _number(name, value)
    return found


def _number(name: str, value: str) -> int:
    if not value.strip().isdigit():
        raise ValueError(f"the environment variable {name} must be a number from 0 on, got {value!r}")
    return int(value)


def detect(method: str | None = None, environ: Mapping[str, str] = os.environ) -> Cluster | None:
    """What the launcher of this process says: Slurm, Open MPI or a Kubernetes indexed job; None without one.

    method: "slurm", "ompi" or "k8s" for one of them, "deactivate" for none. ValueError for another.
    """
    known = {"slurm": _slurm, "ompi": _open_mpi, "k8s": _kubernetes}
    if method == "deactivate":
        return None
    if method is not None and method not in known:
        raise ValueError(f"Automatic Distributed initialization can be used with {', '.join(map(repr, known))} or "
                         f"'deactivate', got cluster_detection_method={method!r}")
    for read in known.values() if method is None else [known[method]]:
        found = read(environ)
        if found is not None:
            return found
    return None


def _slurm(environ: Mapping[str, str]) -> Cluster | None:
    if not {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID"} <= environ.keys():
        return None
    hosts = environ.get("SLURM_STEP_NODELIST", environ.get("SLURM_JOB_NODELIST", "localhost"))
    return Cluster(f"{first_host(hosts)}:{_port(environ['SLURM_JOB_ID'])}", int(environ["SLURM_NTASKS"]),
                   int(environ["SLURM_PROCID"]), int(environ.get("SLURM_LOCALID", 0)))


def first_host(hosts: str) -> str:
    """The first of Slurm's list of hosts.

    >>> first_host("node[003-007,12],other"), first_host("a1,a2"), first_host("host[1,3]-x")
    ('node003', 'a1', 'host1-x')
    """
    found = re.match(r"([^,\[]+)(?:\[([^\],-]+)[^\]]*\]([^,]*))?", hosts)
    return hosts if found is None else "".join(part or "" for part in found.groups())


def _open_mpi(environ: Mapping[str, str]) -> Cluster | None:
    if not {"OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"} <= environ.keys():
        return None
    uri = environ["OMPI_MCA_orte_hnp_uri"]  # 1531576320.0;tcp://10.96.0.1,10.148.0.1:34911
    host = re.search(r"tcp://(?:\[([^\]]+)\]|([^,:]+))", uri) or re.search(r"tcp6://\[([^,\]]+)()", uri)
    if host is None:
        raise RuntimeError(f"Could not parse coordinator IP address from Open MPI environment: OMPI_MCA_orte_hnp_uri={uri!r}")
    return Cluster(f"{host[1] or host[2]}:{_port(uri.split('.', 1)[0])}", int(environ["OMPI_COMM_WORLD_SIZE"]),
                   int(environ["OMPI_COMM_WORLD_RANK"]), int(environ.get("OMPI_COMM_WORLD_LOCAL_RANK", 0)))


def _port(job: str) -> int:
    return int(job) % _PORTS + _FIRST_PORT


def _kubernetes(environ: Mapping[str, str]) -> Cluster | None:
    """An indexed job: its controller sets JOB_COMPLETION_INDEX, the job's description the address and the number."""
    if not {"KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"} <= environ.keys():
        return None
    said = given(environ)
    if "coordinator_address" not in said or "num_processes" not in said:
        return None
    return Cluster(said["coordinator_address"], said["num_processes"], int(environ["JOB_COMPLETION_INDEX"]))
