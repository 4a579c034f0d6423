"""Fuzzing of files that numjet reads: mutated exports, serialized executables and entries of the compilation cache.

    python -m numjet.tools.damage [--count 10000] [--seed 0] [--kinds exported forged ...]

Every mutated file must raise an error. With a renewed checksum (the kinds `forged...`, and `altered exported`, whose numbers,
names, types and arrays are others, well written) it may also be another well typed program of numjet's own operations, which is
then compiled, but not run. Worker processes read the files, so that a crash or a
hang is found and named; an audit hook reports whatever would run code: processes, libraries, imports of packages that reading
does not need, compiled source text, network. Exits with 1 if anything was found.

Shared libraries that `export_native` makes are code by their nature: numjet never reads them back.
"""
from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import numjet as nj
from numjet import export, lax, numpy as jnp
from numjet.api.export import files
from numjet.api.export.codec import Writer
from numjet.core.aval import ShapedArray
from numjet.experimental import serialize_executable
from numjet.foundation import disk_cache
from numjet.foundation.config import config
from numjet.foundation.dimension import is_symbolic

PER_WORKER = 250  # files that one process reads
SECONDS = 240     # after which a process counts as hung
MEMORY = 16 << 30  # of address space that a worker may use
HEAD = files._HEAD.size
_FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "ctypes.dlopen", "socket.",
              "os.remove", "os.rename", "shutil.", "pickle.find_class", "marshal.")
_SOURCE = ("compile", "exec")


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The bytes with a few changed, cut out, put in, repeated or exchanged."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(out))
        match rng.randrange(7):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del out[at:at + rng.choice((1, 2, 8, 100))]
            case 3:
                out[at:at] = rng.randbytes(rng.choice((1, 4, 9)))
            case 4:
                out[at:at] = out[rng.randrange(len(out)):][:rng.choice((1, 8, 60))]
            case 5:
                other = rng.randrange(len(out))
                out[at], out[other] = out[other], out[at]
            case 6:
                out[at:at + 8] = rng.choice((b"\xff" * 8, bytes(8), (1 << 62).to_bytes(8, "little"), b"\x80" * 8))
        out = out or bytearray(1)
    return bytes(out)


class Altering(Writer):
    """Writes what it is given, but for some values: those of the numbers `places`, in the order in which they are written.

    Counts become huge, zero or off by one; texts other names, long ones, odd characters; types other dtypes, large and negative
    sizes, shapes whose product overflows; integers of parameters large, negative or swapped for others.
    """

    COUNTS = (0, 1, 2, 127, 128, 255, 65535, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 62, 2 ** 63 - 1)
    TEXTS = ("", "\0", "a" * 100_000, "\u202egnp", "e\u0301", "\U0001f40d", "../../etc/passwd", "os.system", "cuda", "cpu",
             "f32", "i8", "add", "scan", "while", "cond", "gather", "note_index", "check_index", "custom_vmap_call", "float128",
             "size0", "2**99")
    SHAPES = ((2 ** 62, 2 ** 62), (2 ** 31,) * 3, (0, 2 ** 62), (2 ** 40,), (1,) * 40, (), (0,), (3,))
    DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex128")

    def __init__(self, rng: random.Random, places: Container[int] = ()):
        super().__init__()
        self.rng, self.places, self.written = rng, places, 0

    def _altered(self) -> bool:
        self.written += 1
        return self.written - 1 in self.places

    def count(self, n: int) -> None:
        """A count, or another one."""
        super().count(self.rng.choice((*self.COUNTS, n + 1, abs(n - 1))) if self._altered() else n)

    def text(self, value: str) -> None:
        """A text, or another one."""
        super().text(self.rng.choice((*self.TEXTS, value * 2, value[::-1], value[1:])) if self._altered() else value)

    def integer(self, value: int) -> None:
        """An integer, or another one."""
        other = (-1, 0, 1, -value, value + 1, value * 2 + 7, 2 ** 31, -2 ** 63, 2 ** 64, 2 ** 4000)
        super().integer(self.rng.choice(other) if self._altered() else value)

    def aval(self, aval: ShapedArray) -> None:
        """A type, or another one."""
        if self._altered():
            shape = self.rng.choice((*self.SHAPES, aval.shape, aval.shape[::-1], (*aval.shape, 1)))
            aval = ShapedArray(shape, np.dtype(self.rng.choice(self.DTYPES)), bool(self.rng.randrange(2)))
        super().aval(aval)

    def array(self, value: np.ndarray) -> None:
        """An array, or one of another shape or dtype."""
        if self._altered():
            value = self.rng.choice((value.reshape(-1), value.astype(np.float32), np.zeros(3, np.int8), value[..., None]))
        super().array(value)


# ------------------------------------------------------------------------------------------------ what is mutated

def functions() -> list[tuple[Any, tuple[Any, ...]]]:
    """Functions with calls, loops, branches, constants, keys and trees, and their arguments."""
    def steps(x: Any, t: Any) -> Any:
        ys = lax.scan(lambda c, a: (c + a, c * a), x[0], x)[1]
        chosen = lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
        n = lax.while_loop(lambda n: n < 7, lambda n: 2 * n + t[0], 1)
        return ys.sum() + chosen[1:3].sum() + np.arange(3.0, dtype=np.float32), {"n": n, "k": nj.random.bits(nj.random.key(0))}

    def network(w: Any, x: Any) -> Any:
        return nj.value_and_grad(lambda w: jnp.mean(nj.nn.relu(x @ w["a"]) @ w["b"]))(w)

    def sorted_sums(x: Any) -> Any:
        return jnp.sort(x)[::-1].cumsum(), jnp.argmax(x), x.at[jnp.argsort(x)].add(1.0), jnp.linalg.norm(x)

    weights = {"a": jnp.ones((4, 3)), "b": jnp.ones((3, 2))}
    return [(steps, (jnp.ones((4, 4)), (1, 2.0))), (network, (weights, jnp.ones((5, 4)))), (sorted_sums, (jnp.arange(6.0),))]


def exports() -> list[bytes]:
    """Serialized exports, with derivatives, and one with symbolic shapes."""
    made = [bytes(export.export(nj.jit(f))(*args).serialize(vjp_order=k % 2)) for k, (f, args) in enumerate(functions())]
    rows, = export.symbolic_shape("rows")
    aval = nj.ShapeDtypeStruct((rows, 3), np.float32)
    return [*made, bytes(export.export(nj.jit(lambda x: (x.T @ x, jnp.concatenate([x, x]))))(aval).serialize())]


def executables() -> list[tuple[bytes, Any, Any]]:
    """Serialized executables."""
    return [serialize_executable.serialize(nj.jit(f).lower(*args).compile()) for f, args in functions()]


Reading = Callable[[random.Random], bool]  # reads one mutated file; whether it was refused


def _read_export(data: bytes) -> None:
    found = export.deserialize(data)
    export.deserialize(found.serialize())
    if not is_symbolic(n for a in found.in_avals for n in a.shape):
        args, kwargs = nj.tree.unflatten(found.in_tree, [nj.ShapeDtypeStruct(a.shape, a.dtype) for a in found.in_avals])
        nj.jit(found.call).lower(*args, **kwargs).compile()


def _exported(forged: bool) -> Reading:
    originals = exports()
    for whole in originals:  # imports what reading needs
        _read_export(whole)

    def read(rng: random.Random) -> bool:
        whole = rng.choice(originals)
        data = files.sealed(files._MAGIC, mutated(rng, whole[HEAD:])) if forged else mutated(rng, whole)
        if data == whole:
            return True
        return _refused(lambda: _read_export(data), forged)
    return read


def _altered() -> Reading:
    """Exports written with other values in some places."""
    for whole in exports():
        _read_export(whole)
    originals = [export.deserialize(whole) for whole in exports()]
    sizes = []
    for k, e in enumerate(originals):
        writer = Altering(random.Random(0))
        files._write(writer, e, k % 2 if k < 3 else 0)
        sizes.append(writer.written)

    def read(rng: random.Random) -> bool:
        k = rng.randrange(len(originals))
        places = {rng.randrange(sizes[k]) for _ in range(rng.choice((1, 1, 2, 4)))}
        writer = Altering(rng, places)
        try:
            files._write(writer, originals[k], k % 2 if k < 3 else 0)
        except (ValueError, TypeError, OverflowError):
            return True   # no writer writes this
        return _refused(lambda: _read_export(files.sealed(files._MAGIC, bytes(writer.data))), True)
    return read


def _executable(forged: bool) -> Reading:
    originals = executables()
    for whole in originals:
        serialize_executable.deserialize_and_load(*whole)

    def read(rng: random.Random) -> bool:
        whole, *trees = rng.choice(originals)
        data = files.sealed(whole[:8], mutated(rng, whole[HEAD:])) if forged else mutated(rng, whole)
        if data == whole:
            return True
        return _refused(lambda: serialize_executable.deserialize_and_load(data, *trees), forged)
    return read


def _cache() -> Reading:
    folder = Path(tempfile.mkdtemp())
    config.update("numjet_cache", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    disk_cache.keep("name", random.Random(0).randbytes(5000), 1.0)
    entry, = folder.glob("*.numjet")
    whole = entry.read_bytes()

    def read(rng: random.Random) -> bool:
        data = mutated(rng, whole)
        entry.write_bytes(data)
        entry.chmod(0o600)
        return data == whole or disk_cache.find("name") is None
    return read


def _refused(read: Callable[[], Any], forged: bool) -> bool:
    """Whether reading raised an error that says what is wrong; with `forged`, other errors of the compiler count, too."""
    allowed = (ValueError, NotImplementedError, TypeError, OverflowError, MemoryError) if forged else (ValueError,)
    try:
        read()
    except allowed:
        return True
    return False


KINDS: dict[str, Callable[[], Reading]] = {
    "exported": lambda: _exported(False), "forged exported": lambda: _exported(True), "altered exported": _altered,
    "executable": lambda: _executable(False), "forged executable": lambda: _executable(True), "cache": _cache,
}


# ------------------------------------------------------------------------------------------------ workers

def _watch(report: Callable[[str], None]) -> None:
    """Reports from now on what would run code that is not numjet's or of the packages that it uses. What is imported with its
    first use is not compiled to files meanwhile, so that nobody else writes and renames any."""
    sys.dont_write_bytecode = True
    known = {name.split(".")[0] for name in sys.modules} | set(sys.stdlib_module_names)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(_FORBIDDEN) and not event.startswith("marshal.load"):
            report(f"{event} {args!r:.100}")
        elif event == "import" and str(args[0]).split(".")[0] not in known:
            report(f"import of {args[0]}")
        elif event in _SOURCE:
            file = str(getattr(args[0], "co_filename", args[1] if len(args) > 1 else ""))
            if not file.startswith("<frozen") and not Path(file).is_file():
                report(f"{event} of {file!r}")
    sys.addaudithook(hook)


def work(kind: str, seed: int, start: int, stop: int, note: Path) -> dict[str, Any]:
    """Reads the mutated files number start ... stop - 1 of a kind; counts, and what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    config.update("numjet_cache", "0")   # what is compiled is not kept: files are written and renamed by nobody else
    read = KINDS[kind]()
    found: Counter[str] = Counter()
    wrong: list[str] = []
    at = [start]
    _watch(lambda what: wrong.append(f"{kind} {at[0]}: {what}") if kind != "cache" or "os.re" not in what else None)
    for number in range(start, stop):
        at[0] = number
        note.write_text(str(number))
        try:
            refused = read(random.Random(f"{seed} {kind} {number}"))
        except Exception as error:
            wrong.append(f"{kind} {number}: {type(error).__name__}: {error!s:.200}")
            continue
        found["refused" if refused else "read"] += 1
        if not refused and kind.split()[0] not in ("forged", "altered"):
            wrong.append(f"{kind} {number}: read without an error")
    return {"found": dict(found), "wrong": wrong}


def run(kind: str, seed: int, start: int, stop: int) -> dict[str, Any]:
    """`work` in a process of its own; a crash or hang is what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "number"
        command = [sys.executable, "-m", "numjet.tools.damage", "--worker", kind, str(seed), str(start), str(stop), str(note)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return {"found": {}, "wrong": [f"{kind} {_last(note)}: more than {SECONDS} s"]}
        if done.returncode:
            number = _last(note)
            return {"found": {}, "wrong": [f"{kind} {number}: exit status {done.returncode}: {done.stderr[-500:]}"]}
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result


def _last(note: Path) -> str:
    """The number of the file that a worker read last."""
    return note.read_text() if note.exists() else "before the first"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.damage", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="mutated files, of all kinds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        kind, seed, start, stop, note = options.worker
        print(json.dumps(work(kind, int(seed), int(start), int(stop), Path(note))))
        return 0
    each = -(-options.count // len(options.kinds))
    wrong: list[str] = []
    for kind in options.kinds:
        total: Counter[str] = Counter()
        for start in range(0, each, PER_WORKER):
            done = run(kind, options.seed, start, min(start + PER_WORKER, each))
            total.update(done["found"])
            wrong += done["wrong"]
        refused, read = total["refused"], total["read"]
        print(f"{kind:18} {refused + read:6} files: {refused} refused with an error, {read} other programs", flush=True)
    for line in wrong:
        print("FOUND", line)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
