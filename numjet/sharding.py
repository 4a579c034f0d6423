"""Shardings of arrays: on one device, by any of JAX's ways of saying so."""

from numjet.api.sharding import (
    AxisType as AxisType, Mesh as Mesh, NamedSharding as NamedSharding, PartitionSpec as PartitionSpec, Sharding as Sharding,
    SingleDeviceSharding as SingleDeviceSharding,
)
