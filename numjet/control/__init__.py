"""Operations that hold programs: calls, branches, loops, functions with derivatives of their own, checkpoints."""
