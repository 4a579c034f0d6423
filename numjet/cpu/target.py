"""Target descriptions: what the compiler has to know about a CPU, from its features to its caches and costs.

Only data: this module imports nothing heavy. `jit.host` fills a `Target` for this machine from LLVM and the native core.
Whatever decides by the size of a cache or by a time takes it from here, so that a test can compile for another machine.
"""
from __future__ import annotations

from numjet.foundation.record import Record

# The CPU and features that a limited instruction set stands for (levels 4, 3 and 1 of x86-64's psABI).
_AVX2 = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe,+sse4.2"
LIMITED = {"avx512": ("x86-64-v4", f"{_AVX2},+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512cd"), "avx2": ("x86-64-v3", _AVX2),
           "baseline": ("x86-64", "+sse2")}


class Caches(Record):
    """Sizes of data caches in bytes. The defaults are those of a typical server, and stand for what a system does not tell.

    line: one line. l1, l2: the first and second level of one core. l2_way: the distance after which lines compete for one set
    of the second level (its size by its associativity). last_level: the largest cache, which cores share.

    Results are the same on machines with other caches. So whatever decides in which order numbers are added (lowering, and the
    passes up to parallelization) uses the sizes of TYPICAL; what comes later uses those of the target.
    """

    line: int = 64
    l1: int = 32 << 10
    l2: int = 1 << 20
    l2_way: int = 128 << 10
    last_level: int = 32 << 20


TYPICAL = Caches()


class Target(Record):
    """A CPU to generate code for.

    vector_bytes: width of one vector register (64 AVX-512, 32 AVX2, 16 SSE and NEON).
    exponents: a float's exponent and significand are instructions, and scaling by a power of two (AVX-512).
    masks: masked loads and stores of every element type are cheap (AVX-512 BW and VL).
    half: converts between float16 and float32 are instructions.
    registers: number of vector registers.
    caches: sizes of its data caches.
    operation_ns, byte_ns: time of an operation on a scalar, or on all lanes of a vector, and of a byte from memory.
    No system tells these; the defaults hold within a factor of two for servers.

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
    caches: Caches = TYPICAL
    operation_ns: float = 0.25
    byte_ns: float = 0.02

    @property
    def lanes(self) -> int:
        """How many elements of 4 bytes a vector register holds."""
        return self.vector_bytes // 4

    @property
    def exponents(self) -> bool:
        return self.vector_bytes == 64


def from_features(cpu: str, features: str, machine: str, triple: str = "", caches: Caches = TYPICAL) -> Target:
    """The `Target` of a CPU with LLVM's feature list, such as "+avx2,-avx512f".

    `machine` is the architecture's name, such as "x86_64" or "aarch64".
    """
    present = {name[1:] for name in features.split(",") if name.startswith("+")}
    arm = machine in ("aarch64", "arm64")
    wide = {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= present
    width = 64 if wide else 32 if "avx2" in present else 16
    registers = 32 if wide or arm else 16
    return Target(cpu, features, width, wide, arm or "f16c" in present, registers, triple, caches)
