"""Python's own `if`, `while` and `for` on traced values: `autograph` rewrites them, so that they compile."""
import numjet as nj
import numjet.numpy as jnp


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


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
