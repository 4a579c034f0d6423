"""Python's own `if`, `while` and `for` on traced values: `autograph` rewrites them, so that they compile."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@nj.autograph
def root(f, low, high, tolerance=1e-5):
    """A root of f between two points, by bisection; NaN if f has the same sign at both."""
    if f(low) * f(high) > 0:
        return jnp.nan
    while high - low > tolerance:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@nj.autograph
def first_above(xs, limit):
    """The index of the first element above a limit, -1 if there is none."""
    for i in range(len(xs)):
        if xs[i] > limit:
            return i
    return -1


@nj.autograph
def clipped_walk(steps, bound):
    """Where a walk ends that stops for good once it leaves the bounds, and skips steps of length zero."""
    at, taken = 0.0, 0
    for step in steps:
        if step == 0:
            continue
        at = at + step
        taken += 1
        if not -bound < at < bound:
            break
    return at, taken


def run():
    bisect = nj.jit(lambda c: root(lambda x: x * x * x - c, jnp.float32(0), jnp.float32(3)))
    xs = jnp.array([0.5, 1.5, 0.0, 2.5, -1.0])
    return {
        "cube roots": nj.vmap(bisect)(jnp.array([2.0, 8.0, 20.0])),
        "first above": nj.vmap(nj.jit(first_above), (None, 0))(xs, jnp.array([1.0, 2.0, 3.0])),
        "walk": nj.jit(clipped_walk)(xs, 3.0),
        "its slope": nj.jit(nj.grad(lambda steps: clipped_walk(steps, 3.0)[0]))(xs),
    }


def by_hand(c):
    """The cube root as a program of control flow operations, to compare with."""
    def f(x):
        return x * x * x - c

    def halve(ends):
        low, high = ends
        middle = (low + high) / 2
        left = f(low) * f(middle) <= 0
        return lax.cond(left, lambda: (low, middle), lambda: (middle, high))

    low, high = lax.while_loop(lambda ends: ends[1] - ends[0] > 1e-5, halve, (jnp.float32(0), jnp.float32(3)))
    return lax.cond(f(0) * f(3) > 0, lambda: jnp.nan, lambda: (low + high) / 2)


if __name__ == "__main__":
    from _figures import least, temporaries
    cubes = jnp.linspace(1.0, 26.0, 2000)
    rewritten, written = nj.vmap(lambda c: root(lambda x: x * x * x - c, jnp.float32(0), jnp.float32(3))), nj.vmap(by_hand)
    times = least([nj.jit(rewritten), nj.jit(written)], cubes)
    for name, fun, ms in zip(("by autograph", "by lax.while_loop"), (rewritten, written), times, strict=True):
        print(f"{cubes.size} cube roots {name}: {ms:.3f} ms, {temporaries(fun, cubes):.1f} KiB of temporaries")
    steps = jnp.cos(jnp.arange(10_000.0))
    for name, fun in (("walk", clipped_walk), ("gradient of the walk", nj.grad(lambda s, bound: clipped_walk(s, bound)[0]))):
        [ms] = least([nj.jit(fun)], steps, 9.0)
        print(f"{name}, {steps.size} steps: {ms:.3f} ms, {temporaries(fun, steps, 9.0):.1f} KiB of temporaries")
    for name, value in run().items():
        print(name, value, sep=" = ")
