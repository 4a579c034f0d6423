"""Programs as data: avals, jaxprs, traces, records of operations, the builder protocols; no operation is named here.
Imports `foundation` only.
Add a slot of records to `op`, a method of builders to `emit`, a hook between layers to `hooks`.
"""
