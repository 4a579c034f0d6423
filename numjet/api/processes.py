"""Start and end of programs of several processes. Such programs are not supported; one process may be named as all of them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_state = {"initialized": False}


def initialize(coordinator_address: str | None = None, num_processes: int | None = None, process_id: int | None = None,
               local_device_ids: int | Sequence[int] | None = None, **options: Any) -> None:
    """Begins a program of one process. NotImplementedError for more, RuntimeError when called twice.

    >>> initialize(num_processes=1, process_id=0)
    >>> is_initialized()
    True
    >>> shutdown()
    """
    del local_device_ids, options
    if num_processes not in (None, 1) or process_id not in (None, 0) or (num_processes is None and coordinator_address):
        raise NotImplementedError("distributed.initialize: programs run in one process, got "
                                  f"coordinator_address={coordinator_address!r}, num_processes={num_processes}, "
                                  f"process_id={process_id}")
    if _state["initialized"]:
        raise RuntimeError("distributed.initialize should only be called once.")
    _state["initialized"] = True


def shutdown() -> None:
    """Ends what initialize began."""
    _state["initialized"] = False


def is_initialized() -> bool:
    """Whether initialize was called."""
    return _state["initialized"]
