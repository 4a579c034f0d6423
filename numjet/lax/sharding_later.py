"""Rules of shardings in types and operations that change them, imported when the first type has a placement."""
from __future__ import annotations

from typing import TYPE_CHECKING

from numjet.core import hooks
from numjet.foundation import lazy_import

if TYPE_CHECKING:
    from numjet.lax import sharding, sharding_rules
    from numjet.lax.collective import sums
else:
    sharding = lazy_import.Module("numjet.lax.sharding")
    sharding_rules = lazy_import.Module("numjet.lax.sharding_rules")
    sums = lazy_import.Module("numjet.lax.collective.sums")

hooks.set_explicit(lambda op: sharding_rules.rule_of(op), lambda x: sharding.without_placement(x),
                   lambda op, avals: sharding_rules.sums_of_results(op, avals), lambda x, aval: sums.as_shards(x, aval),
                   lambda op, avals: sharding_rules.data_operands(op, avals))
