"""Programs of shards: `shard_map`, a program that each device of a mesh runs on its parts of the operands."""
