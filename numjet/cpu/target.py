"""What the code generator has to know about a CPU: its name, its features, its register width.

Only data: this module imports nothing heavy. `jit.host` fills a `Target` for this machine from LLVM.
"""
from __future__ import annotations

from numjet.foundation.record import Record

# The CPU and features that a limited instruction set stands for (levels 4, 3 and 1 of x86-64's psABI).
_AVX2 = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe,+sse4.2"
LIMITED = {"avx512": ("x86-64-v4", f"{_AVX2},+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512cd"), "avx2": ("x86-64-v3", _AVX2),
           "baseline": ("x86-64", "+sse2")}


class Target(Record):
    """A CPU to generate code for.

    vector_bytes: width of one vector register (64 AVX-512, 32 AVX2, 16 SSE and NEON).
    exponents: a float's exponent and significand are instructions, and scaling by a power of two (AVX-512).
    masks: masked loads and stores of every element type are cheap (AVX-512 BW and VL).
    half: converts between float16 and float32 are instructions.
    registers: number of vector registers.

    Example:
        >>> from_features("skylake", "+avx2,+fma,+f16c", "x86_64").vector_bytes
        32
    """

    cpu: str
    features: str
    vector_bytes: int
    masks: bool
    half: bool
    registers: int
    triple: str = ""

    @property
    def exponents(self) -> bool:
        return self.vector_bytes == 64


def from_features(cpu: str, features: str, machine: str, triple: str = "") -> Target:
    """The `Target` of a CPU with LLVM's feature list, such as "+avx2,-avx512f".

    `machine` is the architecture's name, such as "x86_64" or "aarch64".
    """
    present = {name[1:] for name in features.split(",") if name.startswith("+")}
    arm = machine in ("aarch64", "arm64")
    wide = {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= present
    width = 64 if wide else 32 if "avx2" in present else 16
    registers = 32 if wide or arm else 16
    return Target(cpu, features, width, wide, arm or "f16c" in present, registers, triple)
