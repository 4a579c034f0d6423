"""Devices, where arrays live and programs run, and the choice of one when none is named."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.core.aval import placements_in_use
from numjet.core.sharding.mesh import over_devices
from numjet.foundation import lazy_import
from numjet.foundation.config import config
from numjet.foundation.processes import state as processes
from numjet.foundation.record import Record
from numjet.runtime import backends, clients

if TYPE_CHECKING:
    from numjet.core.sharding import distribution
    from numjet.core.sharding.distribution import Several
else:
    distribution = lazy_import.Module("numjet.core.sharding.distribution")

_NAMES = {"cpu": "Cpu", "gpu": "Cuda", "tpu": "Tpu", "xla_cpu": "XlaCpu"}
_PLATFORMS_IN_TEXT = {"gpu": "cuda"}


class Device(Record):
    """One device of a platform: "cpu" is numjet's own backend; "xla_cpu", "gpu" and "tpu" run programs by XLA.

    There may be several devices "cpu" (jax_num_cpu_devices): all are the host's memory. Programs of one of them are run by
    numjet's own backend, programs of several by XLA's CPU client."""
    platform: str
    id: int = 0
    device_kind: str = "cpu"
    process_index: int = 0

    def memory_stats(self) -> dict[str, int] | None:
        """None: nobody counts what a device's memory holds."""
        return None

    host_id = property(lambda self: self.process_index)
    task_id = property(lambda self: self.process_index)

    @property
    def client(self) -> clients.Client:
        """The devices of its platform."""
        return _client(self.platform)

    @property
    def local_hardware_id(self) -> int:
        """Its number among the devices of its process."""
        return local(_devices(self.platform), self.process_index).index(self)

    def default_memory(self) -> clients.Memory:
        """Its memory."""
        return clients.Memory(self)

    def addressable_memories(self) -> list[clients.Memory]:
        """The memories that its programs read: its own, and that of the host under the names that programs give it."""
        return [clients.Memory(self, kind) for kind in clients.kinds_of(self)]

    def memory(self, kind: str) -> clients.Memory:
        """The memory of a kind. ValueError for a kind that it does not have."""
        return clients.memory_of(self, kind)

    def live_buffers(self) -> list[Any]:
        """The arrays on it alone that are alive and not deleted."""
        return [x for x in _native.live_arrays() if x.device == self]

    def __repr__(self) -> str:
        return f"{_NAMES[self.platform]}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{_PLATFORMS_IN_TEXT.get(self.platform, self.platform)}:{self.id}"


CPU = Device("cpu")
_IDS_PER_PROCESS = 2048  # of the CPU's devices, in jaxlib's numbering
_listed: list[str] = []  # platforms whose devices somebody has asked for


def process_index() -> int:
    """The number of this process among those of the program."""
    return processes.index


def devices_are_known() -> bool:
    """Whether devices were asked for, so that their numbers cannot change any more."""
    return bool(_listed)


def become_process(index: int, count: int) -> None:
    """Makes this process one of several, before devices are asked for: its first device gets the number that it has among
    those of all processes."""
    processes.index, processes.count = index, count
    object.__setattr__(CPU, "id", index * _IDS_PER_PROCESS)
    object.__setattr__(CPU, "process_index", index)
    other_platforms.add("xla_cpu")


labels_in_use: list[bool] = []  # not empty once an array of one device has the sharding of a mesh
other_platforms: set[str] = set()  # those whose devices were listed


@functools.cache
def _devices(platform: str) -> tuple[Device, ...]:
    if platform == "cpu":
        config.read_environment("jax_num_cpu_devices")  # programs set XLA_FLAGS as late as this
        config.settle("jax_num_cpu_devices", "jax_num_cpu_devices config should be updated before backends are initialized, "
                      "that is, before devices are asked for: set it at the start of the program")
        _listed.append(platform)
        if processes.count > 1:
            return _of_all_processes()
        if config.num_cpu_devices > 1:
            other_platforms.add("xla_cpu")
        return (CPU, *[Device("cpu", k) for k in range(1, config.num_cpu_devices)])
    found = tuple(Device(platform, *record) for record in backends.load_backend(platform).device_records(platform))
    other_platforms.add(platform)
    return found


@functools.cache
def _client(platform: str) -> clients.Client:
    return clients.Client(platform, _devices(platform), process_index())


def _of_all_processes() -> tuple[Device, ...]:
    """The CPU's devices of all processes, by number; the first of this one is the object that stands for it everywhere."""
    records = sorted(backends.load_backend("xla_cpu").device_records("xla_cpu", every=True), key=lambda r: (r[2], r[0]))
    found = tuple(Device("cpu", number, process_index=process) for number, _, process in records)
    if CPU not in found:
        raise RuntimeError(f"jaxlib numbers the devices of process {processes.index} in another way than expected: {found}")
    return tuple(CPU if d == CPU else d for d in found)


def local(found: Iterable[Device], process: int | None = None) -> list[Device]:
    """The devices of a process, default: this one."""
    wanted = processes.index if process is None else process
    return [d for d in found if d.process_index == wanted]


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform: cpu, xla_cpu, gpu (or cuda), tpu; default: the default backend's.

    Raises RuntimeError for a platform that is unknown or not installed, with the remedy.
    """
    return list(_devices(default_backend() if backend is None else backends.canonical(backend)))


def default_backend() -> str:
    """The platform used where no device is named: the first of jax_platforms, else cpu."""
    return backends.canonical(_platform_named())


def _platform_named() -> str:
    """The first of the platforms that flags name, known or not; cpu without any."""
    wanted = config.platforms or config.platform_name
    return wanted.split(",")[0].strip() if wanted else "cpu"


def default_device() -> Device:
    """The device of results that no argument pins: jax_default_device, else the first of the default backend."""
    wanted = config.default_device
    if wanted is None:
        return local(devices())[0]
    return wanted if isinstance(wanted, Device) else local(devices(wanted))[0]


def elsewhere() -> bool:
    """Whether arrays may be on, or results be meant for, another device than numjet's own CPU."""
    return bool(other_platforms) or default_elsewhere()


def default_elsewhere() -> bool:
    """Whether results that no argument pins may be meant for another device than numjet's own CPU."""
    return not _named_is_here() or mesh_of_several() is not None


def _named_is_here() -> bool:
    """Whether the device that flags name as default is numjet's own CPU, as it is without any: the environment of many programs
    has JAX_PLATFORMS=cpu. Unknown names are not, and are refused where devices are asked for."""
    wanted = config.default_device
    return wanted is CPU or (_platform_named() if wanted is None else wanted) == "cpu"


def mesh_of_several() -> Any:
    """The mesh that set_mesh set, if it is one of several devices: what no argument places is on all of them. Else None."""
    found = config.numjet_mesh
    places = found is not None and not found.is_abstract and found.size > 1 and not config.numjet_mesh_names_only
    return found if places else None


def default_place() -> Device | Several:
    """Where a computation runs that no argument pins: on the devices of the mesh in use, else on the default device."""
    mesh = mesh_of_several()
    return default_device() if mesh is None else devices_of_mesh(mesh)


def on_host(x: Any) -> bool:
    """Whether an Array is in the host's memory, and on its first device, without the sharding of a mesh, and of a type that
    says nothing of memory."""
    return ((not other_platforms or x.device is CPU) and (not labels_in_use or x._sharding is None)
            and (not placements_in_use or x.aval.placement is None))


def choose(values: Iterable[Any], what: str, given: Any = None, names: Sequence[str] = (),
           naming: str = "a program that is to run on") -> Device | Several:
    """The device of a computation, or the several: those that its operands are committed to, else `given` or the default.
    naming: what says `given`, for messages.

    Raises ValueError when operands are committed to different devices.
    """
    found: tuple[int, Any] | None = None
    for k, x in enumerate(values):
        if type(x) is not _native.Array or not x.committed or (found is not None and found[1].device is x.device):
            continue
        if found is None:
            found = k, x
        elif not _same_devices(found[1].device, x.device):
            raise _incompatible(what, found, (k, x), names)
    if found is None:
        return given or default_place()
    if given is not None and not _same_devices(given, found[1].device):
        raise ValueError(f"Received incompatible devices for jitted computation. Got {_argument(what, found, names)} and "
                         f"{naming} {_on(given)}. Move the argument with device_put, or leave the devices to the arguments.")
    placement = found[1].device
    if isinstance(placement, Device):
        return placement
    mesh = getattr(given, "mesh", None) or getattr(placement, "mesh", None)
    return distribution.Several(distribution.devices_of(placement), mesh)


def choose_for_mesh(values: Iterable[Any], what: str, mesh: Any, names: Sequence[str] = ()) -> Device | Several:
    """As choose, for a computation that names a mesh. An abstract one that no mesh in use stands for has the devices of the
    operands, of which there have to be as many."""
    if not mesh.is_abstract or _in_use(mesh) is not None:
        return choose(values, what, devices_of_mesh(mesh), names, "sharding_constraint inside jit with")
    found = choose(values, what, None, names)
    return devices_of_mesh(mesh) if isinstance(found, Device) or len(found.devices) != mesh.size else found


def _in_use(mesh: Any) -> Any:
    """The mesh of devices in use, if an abstract mesh can stand for it; None if not."""
    found = config.numjet_mesh
    return None if found is None or found.is_abstract or found.shape_tuple != mesh.shape_tuple else found


def devices_of_mesh(mesh: Any) -> Device | Several:
    """The devices of a mesh; of an abstract one, those of the mesh in use. ValueError where that is another."""
    found = over_devices(mesh)
    if found is None:
        raise ValueError(f"{mesh} has no devices, and the mesh in use is {config.numjet_mesh}: set one of these axes with "
                         "set_mesh, or pass arguments that are divided over as many devices")
    every = tuple(found.devices.flat)
    return every[0] if len(every) == 1 else distribution.Several(every, found)


def _same_devices(first: Any, second: Any) -> bool:
    return first == second or (not (isinstance(first, Device) and isinstance(second, Device))
                               and set(distribution.devices_of(first)) == set(distribution.devices_of(second)))


def _on(placement: Any) -> str:
    """The devices of a placement, for messages."""
    found = (placement,) if isinstance(placement, Device) else distribution.devices_of(placement)
    return f"device ids {[d.id for d in found]} on platform {found[0].platform.upper()}"


def _argument(what: str, numbered: tuple[int, Any], names: Sequence[str]) -> str:
    k, x = numbered
    return f"argument {names[k] if k < len(names) else k} of {what} with shape {x.aval} and with {_on(x.device)}"


def _incompatible(what: str, first: tuple[int, Any], second: tuple[int, Any], names: Sequence[str]) -> ValueError:
    return ValueError(f"Received incompatible devices for jitted computation. Got {_argument(what, first, names)} and "
                      f"{_argument(what, second, names)}. Move one of them with device_put.")
