"""Checkpoints of divided arrays: each process writes the parts that it has, and any mesh reads them.

JAX_NUM_CPU_DEVICES=8 python examples/sharded_checkpoint.py writes under one mesh and reads under others. Parts are .npy files,
which are read by memory maps: a device's part is copied from those files that it overlaps, and nothing else is read.
"""
import json
import tempfile
from pathlib import Path

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P


def bounds(index, shape):
    return [part.indices(size)[:2] for part, size in zip(index, shape, strict=True)]


def save(folder, arrays):
    """Writes the parts on this process's devices, each once. All processes call it, with a folder that all see."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, x in arrays.items():
        for shard in x.addressable_shards:
            if shard.replica_id == 0:
                place = "_".join(f"{start}-{stop}" for start, stop in bounds(shard.index, x.shape))
                np.save(folder / f"{name}.{place}.npy", np.asarray(shard.data))
    if nj.process_index() == 0:
        index = {name: {"shape": x.shape, "dtype": x.dtype.name} for name, x in arrays.items()}
        (folder / "index.json").write_text(json.dumps(index), encoding="utf8")


def read(folder, name, shape, dtype):
    """A function that gives the values at an index, from the files that it overlaps."""
    files = {}
    for path in folder.glob(f"{name}.*.npy"):
        place = path.name[len(name) + 1:-len(".npy")]
        files[path] = [tuple(map(int, part.split("-"))) for part in place.split("_") if part]

    def values(index):
        wanted = bounds(index, shape)
        found = np.empty([stop - start for start, stop in wanted], dtype)
        for path, part in files.items():
            both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(wanted, part, strict=True)]
            if all(a < b for a, b in both):
                into = tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(both, wanted, strict=True))
                out_of = tuple(slice(a - start, b - start) for (a, b), (start, _) in zip(both, part, strict=True))
                found[into] = np.load(path, mmap_mode="r")[out_of]
        return found
    return values


def load(folder, shardings):
    """The arrays, each under a sharding of any mesh."""
    index = json.loads((folder / "index.json").read_text(encoding="utf8"))
    return {name: nj.make_array_from_callback(tuple(about["shape"]), shardings[name],
                                              read(folder, name, tuple(about["shape"]), np.dtype(about["dtype"])))
            for name, about in index.items()}


def arrays():
    return {"weights": jnp.arange(96.0).reshape(8, 12), "bias": jnp.arange(12.0), "step": jnp.asarray(7)}


def run():
    here = next(iter(jnp.zeros(()).devices()))
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder), arrays())
        return load(Path(folder), dict.fromkeys(arrays(), here))


if __name__ == "__main__":
    devices = np.array(nj.devices())
    specs = {"weights": P("data", "model"), "bias": P("model"), "step": P()}

    def over(rows, columns):
        mesh = Mesh(devices[:rows * columns].reshape(rows, columns), ("data", "model"))
        return {name: NamedSharding(mesh, spec) for name, spec in specs.items()}
    sizes = [(rows, columns) for rows, columns in [(4, 2), (2, 4), (2, 1), (1, 1)] if rows * columns <= len(devices)]
    with tempfile.TemporaryDirectory() as folder:
        given = over(*sizes[0])
        save(Path(folder), {name: nj.device_put(x, given[name]) for name, x in arrays().items()})
        print("written:", *sorted(path.name for path in Path(folder).iterdir()))
        for rows, columns in sizes:
            found = load(Path(folder), over(rows, columns))
            same = all(bool((np.asarray(found[name]) == np.asarray(x)).all()) for name, x in arrays().items())
            print(f"read under a mesh of {rows} x {columns} devices:", "equal" if same else "different")
