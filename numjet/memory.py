"""Memory spaces of devices, as types and `device_put` name them."""

from numjet.core.sharding.memory import Space as Space

__all__ = ["Space"]
