"""Index checks in compiled code by `checkify`: what they say, and what they cost."""
import time

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental import checkify


def rows(table, at):
    """Rows of a table, picked and added up."""
    return table[at].sum(0)


def run():
    table = jnp.arange(40.0).reshape(10, 4)
    checked = nj.jit(checkify.checkify(rows, errors=checkify.index_checks))
    good, total = checked(table, jnp.array([1, 9, 3]))
    bad, _ = checked(table, jnp.array([1, 12, 3]))
    return {"sum": total, "an error": jnp.array([good.get() is not None, bad.get() is not None])}


def ratio(count, width, repeats=15):
    """The time of a checked gather over that of an unchecked one, least of some, taken in turn."""
    table = jnp.ones((count, width), jnp.float32)
    at = nj.random.randint(nj.random.key(0), (count,), 0, count)
    functions = [nj.jit(lambda t, i: t[i]), nj.jit(checkify.checkify(lambda t, i: t[i], errors=checkify.index_checks))]
    times = [[], []]
    for f in functions:
        nj.block_until_ready(f(table, at))
    for _ in range(repeats):
        for f, own in zip(functions, times, strict=True):
            start = time.perf_counter()
            nj.block_until_ready(f(table, at))
            own.append(time.perf_counter() - start)
    return min(times[1]) / min(times[0])


if __name__ == "__main__":
    for count, width in ((1_000_000, 1), (1_000_000, 4), (200_000, 64)):
        print(f"a gather of {count} rows of {width}: checked over unchecked time {ratio(count, width):.2f}")
    for name, value in run().items():
        print(name, value, sep=" = ")
    error, _ = nj.jit(checkify.checkify(rows, errors=checkify.index_checks))(jnp.ones((10, 4)), jnp.array([1, 12, 3]))
    print(error.get())
