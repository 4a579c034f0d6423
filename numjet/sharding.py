"""Shardings of arrays: on one device, by any of JAX's ways of saying so."""

from numjet.api.sharding.axis_modes import auto_axes as auto_axes, explicit_axes as explicit_axes, reshard as reshard
from numjet.api.sharding.mesh import (
    get_abstract_mesh as get_abstract_mesh, get_mesh as get_mesh, set_mesh as set_mesh, use_abstract_mesh as use_abstract_mesh,
)
from numjet.core.sharding.manual_axes import ManualAxisType as ManualAxisType
from numjet.core.sharding.mesh import (
    AbstractDevice as AbstractDevice, AbstractMesh as AbstractMesh, AxisType as AxisType, Mesh as Mesh,
)
from numjet.core.sharding.partition_spec import PartitionSpec as PartitionSpec
from numjet.core.sharding.shardings import (
    NamedSharding as NamedSharding, Sharding as Sharding, SingleDeviceSharding as SingleDeviceSharding,
    make_single_device_sharding as make_single_device_sharding,
)
