"""Stages of ahead-of-time compilation: what `jit(f).trace`, `.lower` and `.compile` return."""

from numjet.api.aot import (
    ArgInfo as ArgInfo,
    Compiled as Compiled,
    CompilerOptions as CompilerOptions,
    Lowered as Lowered,
    Traced as Traced,
    Wrapped as Wrapped,
)
