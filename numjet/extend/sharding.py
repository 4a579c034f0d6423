"""Shardings of XLA: refused, as programs run on one device."""
from __future__ import annotations

from typing import Any, NoReturn

_WHY = "programs run on one device, so arrays have no shardings of XLA"


class GSPMDSharding:
    """Refused."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(_WHY)


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)


def get_op_sharding_from_serialized_proto(sharding: bytes) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)
