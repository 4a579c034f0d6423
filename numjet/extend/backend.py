"""Backends: the platforms that compile programs, as objects with their devices."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

from numjet.api.diagnostics import clear_caches
from numjet.foundation.record import Record
from numjet.runtime import backends as _backends, device as _device

_users_caches: list[tuple[Any, str]] = []


class Client(Record):
    """One platform; cpu is numjet's own."""
    platform: str

    @property
    def platform_version(self) -> str:
        return "numjet" if self.platform == "cpu" else "XLA"

    @property
    def runtime_type(self) -> str:
        return self.platform_version.lower()

    def devices(self) -> list[_device.Device]:
        return _device.devices(self.platform)

    local_devices = devices

    def device_count(self) -> int:
        return len(self.devices())

    local_device_count = device_count

    def process_index(self) -> int:
        return 0

    host_id = process_index


def get_backend(platform: str | Client | None = None) -> Client:
    """A platform's backend; default: the one that programs run on. RuntimeError for one that is unknown or not installed.

    >>> get_backend("cpu").device_count()
    1
    """
    if isinstance(platform, Client):
        return platform
    name = _device.default_backend() if platform is None else _backends.canonical(platform)
    _device.devices(name)
    return Client(name)


def backends() -> dict[str, Client]:
    """The backends that are in use: numjet's own, the default one, and those whose devices were listed."""
    return {name: Client(name) for name in ("cpu", *sorted({_device.default_backend(), *_device.other_platforms} - {"cpu"}))}


def get_default_device() -> _device.Device:
    """The device of results that no argument pins."""
    return _device.default_device()


def backend_xla_version(platform: str | None = None) -> None:
    """None: numjet's own backend has no version of XLA, and others do not tell it."""
    get_backend(platform)


def clear_in_memory_compilation_cache() -> None:
    """Drops compiled programs."""
    clear_caches()


def clear_backends(_crash: bool = False) -> None:
    """Drops compiled programs, and calls cache_clear of the caches that were registered. Devices and arrays stay."""
    clear_caches()
    for cache, _ in _users_caches:
        cache.cache_clear()


def register_backend_cache(cache: Any, for_what: str) -> Any:
    """Lets clear_backends clear a cache (an object with `cache_clear`); returns it."""
    _users_caches.append((cache, for_what))
    return cache


def register_backend_factory(name: str, factory: Callable[..., Any], *, priority: int = 0, fail_quietly: bool = True,
                             experimental: bool = False, make_topology: Any = None, c_api: Any = None) -> NoReturn:
    """Refused: clients of PJRT are found by jaxlib (numjet[xla])."""
    raise NotImplementedError(f"register_backend_factory({name!r}): numjet's backends are fixed; devices of PJRT plugins come "
                              "with the backend 'xla_cpu', 'gpu' or 'tpu' (pip install 'numjet[xla]')")


def get_compile_options(num_replicas: int, num_partitions: int, device_assignment: Any = None,
                        env_options_overrides: Any = None, fdo_profile: Any = None, detailed_logging: bool = True,
                        backend: Any = None) -> NoReturn:
    """Refused: they are options of XLA."""
    raise NotImplementedError("get_compile_options makes options of XLA; numjet.jit(f, compiler_options=...) sets its own")


def _no_proxy(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("ifrt_proxy: programs run in this process")


ifrt_proxy = SimpleNamespace(get_client=_no_proxy, ClientConnectionOptions=_no_proxy)
