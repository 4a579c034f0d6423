"""Export of functions as shared libraries with a C interface, which run without Python."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numjet.api.jit import with_stages
from numjet.core.aval import ShapedArray
from numjet.foundation.record import Record
from numjet.foundation.util import wraps
from numjet.runtime import backends
from numjet.runtime.device import CPU

INSTRUCTION_SETS = ("native", "avx512", "avx2", "baseline")
_TYPES = {"float32": "float", "float64": "double", "complex64": "float", "complex128": "double", "bool": "uint8_t",
          "float16": "uint16_t", "bfloat16": "uint16_t", **{f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint")
                                                            for bits in (8, 16, 32, 64)}}
_WORDS = frozenset("""alignas alignof and asm auto bool break case catch char class const continue default delete do double
else enum extern false float for friend goto if inline int long namespace new not operator or private protected public register
return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void
volatile while xor""".split())


class Parameter(Record):
    """A pointer that the C function takes, to a row-major array. used: whether the program reads it."""
    name: str
    aval: ShapedArray
    used: bool = True

    @property
    def c_type(self) -> str:
        """The type of the numbers; complex ones are pairs (real, imaginary)."""
        return _TYPES[str(self.aval.dtype)]


class NativeLibrary(Record):
    """A compiled function for C programs. `header` is its declaration; `save` writes it and the shared library.

    inputs and outputs: the leaves of the arguments and of the result, in the order of pytrees.
    """
    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    program: Any   # of numjet.cpu.standalone

    @property
    def header(self) -> str:
        """The C header, which C++ reads, too."""
        name, guard = self.name, f"{self.name.upper()}_H"
        notes = [f"   {p.name}: {p.aval.str_short()}{'' if p.used else ', not read'}" for p in (*self.inputs, *self.outputs)]
        return "\n".join([
            f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
            f"/* {name}, compiled by numjet. Arrays are row-major, complex numbers are pairs (real, imaginary).", *notes,
            f"   Returns 0, or a status whose meaning {name}_message tells. May be called from several threads. */",
            f"{self._declaration()};", f"const char* {name}_message(int64_t status);",
            "/* How many threads share loops; one per processor if it is not called. */",
            f"void {name}_set_threads(int count);", "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""])

    def _declaration(self) -> str:
        takes = [f"const {p.c_type}* {p.name}" for p in self.inputs] + [f"{p.c_type}* {p.name}" for p in self.outputs]
        return f"int64_t {self.name}({', '.join(takes) or 'void'})"

    def save(self, folder: str | Path) -> Path:
        """Writes NAME.h and libNAME.so into a folder, and the libraries of LAPACK if the program calls it; the path of the
        library. Raises RuntimeError if there is no C++ compiler (c++ on the path), or if it fails.
        """
        folder = Path(folder)
        compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            raise RuntimeError("export_native links with a C++ compiler, and found none as c++, g++ or clang++; install one, "
                               "for example by apt install g++")
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / f"lib{self.name}.so"
        with tempfile.TemporaryDirectory() as place:
            _link(compiler, self.program, self._glue(Path(place)), Path(place), library)
        (folder / f"{self.name}.h").write_text(self.header, encoding="utf8")
        if self.program.blas is not None:
            for needed in self.program.blas.parent.glob("*.so*"):
                shutil.copy2(needed, folder / needed.name)
        return library

    def _glue(self, place: Path) -> str:
        """The C++ source of the exported functions; constants are files in `place`."""
        p, name, no_memory = self.program, self.name, backends.load_standalone().NO_MEMORY
        constants = []
        for k, (symbol, data) in enumerate(p.constants.items()):
            (place / f"{k}.bin").write_bytes(data.tobytes())
            constants.append(f'asm(".section .rodata\\n.balign 64\\n.globl \\"{symbol}\\"\\n.hidden \\"{symbol}\\"\\n'
                             f'\\"{symbol}\\":\\n.incbin \\"{place}/{k}.bin\\"\\n.previous");')
        routines = [f'extern "C" void {r}();' for _, _, r in p.routines]
        given = [f"nj_lapack_set({k}, {code}, {p.integer_bytes}, (const void*){r});" for k, code, r in p.routines]
        alone = f"{_blas_prefix(p.routines)}openblas_set_num_threads{_blas_suffix(p.routines)}" if p.routines else ""
        setup = [f'extern "C" void {alone}(int);', "static int set_up() {", f"  {alone}(1);", *[f"  {g}" for g in given],
                 "  return 0;", "}", "static const int ready = set_up();"] if p.routines else []
        ins = ", ".join(f"(void*){q.name}" for q in self.inputs if q.used) or "nullptr"
        outs = ", ".join(f"(void*){q.name}" for q in self.outputs) or "nullptr"
        return "\n".join([
            "#include <cstdint>", "#include <cstdlib>", *constants, *routines,
            f'asm(".hidden \\"{p.symbol}\\"");',
            f'extern "C" int64_t program(void**, void**, void*, int64_t*) __asm__("{p.symbol}");',
            'extern "C" int64_t nj_lapack_set(int64_t, int64_t, int64_t, const void*);', *setup,
            "namespace nj { void set_thread_count(int count); }",
            "namespace nj { enum class Simd { portable, avx2, avx512 }; bool limit_simd(Simd); }",
            f"static const bool limited = nj::limit_simd(nj::Simd::{p.kernels});",
            '#define EXPORT extern "C" __attribute__((visibility("default")))',
            f"EXPORT {self._declaration()} {{", f"  void* ins[] = {{{ins}}};", f"  void* outs[] = {{{outs}}};",
            "  int64_t info[8] = {};", "  void* scratch = nullptr;",
            f"  if ({p.scratch_bytes} && posix_memalign(&scratch, 64, {max(p.scratch_bytes, 64)})) return {no_memory};",
            "  const int64_t status = program(ins, outs, scratch, info);", "  free(scratch);", "  return status;", "}",
            f"EXPORT const char* {name}_message(int64_t status) {{",
            f'  return status == 0 ? "done" : status == {no_memory} ? "out of memory" : status > {no_memory}',
            '    ? "a kernel failed" : "a check of the program failed";', "}",
            f"EXPORT void {name}_set_threads(int count) {{ nj::set_thread_count(count < 1 ? 1 : count); }}", ""])


def _blas_prefix(routines: Sequence[tuple[int, int, str]]) -> str:
    return "scipy_" if routines[0][2].startswith("scipy_") else ""


def _blas_suffix(routines: Sequence[tuple[int, int, str]]) -> str:
    return "64_" if routines[0][2].endswith("64_") else ""


_OPTIONS = ("-shared", "-O2", "-fPIC", "-std=c++17", "-fvisibility=hidden", "-pthread", "-static-libstdc++", "-static-libgcc",
            "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", "-Wl,-z,noexecstack")


def _link(compiler: str, program: Any, glue: str, place: Path, library: Path) -> None:
    (place / "program.o").write_bytes(program.code)
    (place / "glue.cpp").write_text(glue, encoding="utf8")
    kernels = backends.load_standalone().KERNELS
    names = [option for name, kernel in program.support for option in (f"-Wl,-u,{kernel}", f"-Wl,--defsym={name}={kernel}")]
    blas = [] if program.blas is None else [str(program.blas), "-Wl,-rpath,$ORIGIN"]
    inputs = [place / "glue.cpp", place / "program.o", kernels]
    done = subprocess.run([compiler, *_OPTIONS, "-o", str(library), *map(str, inputs), *names, *blas, "-lm"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"export_native: {compiler} could not link the library:\n{done.stderr.strip()[-2000:]}")


def export_native(fun: Callable[..., Any], *, name: str | None = None,
                  instruction_set: str = "native") -> Callable[..., NativeLibrary]:
    """Decorator: a function of arguments of `fun`, or ShapeDtypeStructs of them, that compiles `fun` for C programs.

    The shared library needs neither Python nor numjet; shapes and dtypes are those of the arguments. The C function takes
    pointers to the leaves of the arguments, then to those of the result, which the caller has allocated. Programs with
    decompositions need OpenBLAS, which `save` copies beside the library.

    Args:
      fun: the function, jitted or not. Static arguments are compiled in.
      name: of the C function; default: that of `fun`.
      instruction_set: "native" (that of this machine), "avx512", "avx2" or "baseline" (any x86-64), for kernels,
        too: the bits of results are those of numjet with the flag `numjet_instruction_set`.

    Raises NotImplementedError for programs that call Python, for dtypes without a C type, and on systems other than Linux;
    ValueError for names that C does not have.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> from numjet import export
    >>> library = export.export_native(lambda x, y: x @ y, name="product")(jnp.ones((2, 3)), jnp.ones(3))
    >>> print(next(line for line in library.header.splitlines() if line.startswith("int64_t")))
    int64_t product(const float* x, const float* y, float* out);
    """
    if instruction_set not in INSTRUCTION_SETS:
        raise ValueError(f"instruction_set must be one of {', '.join(INSTRUCTION_SETS)}, got {instruction_set!r}")
    if not sys.platform.startswith("linux"):
        raise NotImplementedError("export_native writes shared libraries for Linux only")
    jitted = with_stages(fun)

    @wraps(fun, assigned=("__module__", "__qualname__"), updated=())
    def exported(*args: Any, **kwargs: Any) -> NativeLibrary:
        traced = jitted.trace(*args, **kwargs)
        chosen = _checked_name(traced.fun_name if name is None else name)
        if traced.call.device != CPU or traced.call.refs.touched:
            raise NotImplementedError("export_native: arguments must be arrays on numjet's own CPU backend, not on "
                                      f"{traced.call.device} and no mutable references")
        if traced.program.effects:
            effects = ", ".join(map(str, traced.program.effects))
            raise NotImplementedError(f"export_native: {chosen} has effects ({effects}), and a native library has no Python to "
                                      "carry them out")
        taken = {chosen}
        inputs = tuple(Parameter(_unique(text, taken), _checked(text, aval), k in set(traced.kept))
                       for k, (text, aval) in enumerate(zip(traced.call.names, traced.call.in_avals, strict=True)))
        outs = traced.call.out_avals
        outputs = tuple(Parameter(_unique("out" if len(outs) == 1 else f"out{k}", taken), _checked(f"result {k}", aval))
                        for k, aval in enumerate(outs))
        program = backends.load_standalone().standalone(traced.lower().jaxpr, chosen, instruction_set)
        return NativeLibrary(chosen, inputs, outputs, program)

    return exported


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in _WORDS:
        raise ValueError(f"export_native: {name!r} is no name of a C function; pass name='...'")
    return name


def _checked(what: str, aval: Any) -> ShapedArray:
    if str(aval.dtype) not in _TYPES:
        raise NotImplementedError(f"export_native: {what} is {aval.str_short()}, for which C has no type; pass its bits, those "
                                  "of a random key by numjet.random.key_data")
    return aval


def _unique(text: str, taken: set[str]) -> str:
    """A name of C for an argument such as "params['w']"."""
    name = re.sub(r"\W+", "_", text).strip("_") or "x"
    name = f"x{name}" if name[0].isdigit() else name
    while name in taken or name in _WORDS:
        name += "_"
    taken.add(name)
    return name
