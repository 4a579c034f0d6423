"""Index checks in compiled code, by `checkify` and by a flag: what they say, and what they cost."""
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


def under_flag(fun, flag):
    """The function, compiled and called while the flag of index checks is so."""
    jitted = nj.jit(lambda table, at: fun(table, at))

    def call(*args):
        nj.config.update("numjet_index_checks", flag)
        try:
            return jitted(*args)
        finally:
            nj.config.update("numjet_index_checks", "eager")
    return call


def versions(fun):
    """The function without checks, with checks by the flag, and with those of checkify: of indices, and all of them."""
    checked = [nj.jit(checkify.checkify(fun, errors=errors)) for errors in (checkify.index_checks, checkify.all_checks)]
    return under_flag(fun, "eager"), under_flag(fun, "all"), *checked


if __name__ == "__main__":
    from _figures import least
    for fun, count, width in ((gather, 1_000_000, 1), (gather, 500_000, 4), (gather, 100_000, 64), (walk, 100_000, 1)):
        table, at = jnp.ones((count, width) if width > 1 else count), nj.random.randint(nj.random.key(0), (count,), 0, count)
        without, *checked = least(versions(fun), table, at, repeats=15)
        flag, functional, everything = [ms / without for ms in checked]
        print(f"{fun.__name__} of {count} rows of {width}: {without:.2f} ms; time with checks by flag {flag:.2f}, by checkify "
              f"{functional:.2f}, with all of its checks {everything:.2f}")
    for name, value in run().items():
        print(name, value, sep=" = ")
    error, _ = nj.jit(checkify.checkify(rows, errors=checkify.index_checks))(jnp.ones((10, 4)), jnp.array([1, 12, 3]))
    print(error.get())
