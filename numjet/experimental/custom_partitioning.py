"""Functions that say themselves how their work is divided among devices."""

from numjet.control.shards.custom_partitioning import (
    custom_partitioning as custom_partitioning,
    custom_partitioning_p as custom_partitioning_p,
)
from numjet.control.shards.sharding_rule import (
    BATCHING as BATCHING,
    ArrayMapping as ArrayMapping,
    CompoundFactor as CompoundFactor,
    SdyShardingRule as SdyShardingRule,
)
