"""Index checks in compiled code, by `checkify` and by a flag: what they say, and what they cost."""
import time

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
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


def gather(table, at):
    """Rows of a table."""
    return table[at]


def walk(table, at):
    """A sum of rows, one in each step of a loop."""
    return lax.fori_loop(0, at.shape[0], lambda k, total: total + table[at[k]], jnp.zeros(table.shape[1:]))


def ratios(fun, count, width, repeats=15):
    """The times with checks, by the flag and by checkify, over that without: least of some, taken in turn."""
    table = jnp.ones((count, width) if width > 1 else (count,), jnp.float32)
    at = nj.random.randint(nj.random.key(0), (count,), 0, count)
    functions = [nj.jit(lambda t, i: fun(t, i)), nj.jit(lambda t, i: fun(t, i)),
                 nj.jit(checkify.checkify(fun, errors=checkify.index_checks))]
    times = [[], [], []]
    for turn in range(repeats + 1):
        for f, flag, own in zip(functions, ("eager", "all", "eager"), times, strict=True):
            nj.config.update("numjet_index_checks", flag)
            start = time.perf_counter()
            nj.block_until_ready(f(table, at))
            own += [time.perf_counter() - start] * (turn > 0)
    nj.config.update("numjet_index_checks", "eager")
    return [min(own) / min(times[0]) for own in times[1:]]


if __name__ == "__main__":
    for fun, count, width in ((gather, 1_000_000, 1), (gather, 500_000, 4), (gather, 100_000, 64), (walk, 100_000, 1)):
        flag, functional = ratios(fun, count, width)
        print(f"{fun.__name__} of {count} rows of {width}: time with checks by flag {flag:.2f}, by checkify {functional:.2f}")
    for name, value in run().items():
        print(name, value, sep=" = ")
    error, _ = nj.jit(checkify.checkify(rows, errors=checkify.index_checks))(jnp.ones((10, 4)), jnp.array([1, 12, 3]))
    print(error.get())
