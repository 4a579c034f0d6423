"""Sizes that depend on values, compiled: masks, `unique`, `repeat` and loops over what was selected, with gradients."""
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@nj.jit(dynamic_shapes=True)
def events(signal, threshold):
    """Where a signal is above a threshold: positions, the runs between gaps, and the largest value in each run."""
    above = signal > threshold
    at = jnp.flatnonzero(above)
    first = jnp.flatnonzero(above & ~jnp.concatenate([jnp.array([False]), above[:-1]]))
    run = jnp.searchsorted(first, at, side="right") - 1
    return at, first, nj.ops.segment_max(signal[at], run, first.size)


@nj.jit(dynamic_shapes=100)
def decoded(counts, values):
    """Run-length decoding, and the distinct values with how often each occurs."""
    whole = jnp.repeat(values, counts)
    return whole, jnp.unique(whole, return_counts=True)


@nj.jit(dynamic_shapes=True)
def energy(positions, radius):
    """A sum over the near neighbours of each particle, in a loop over the particles that are inside, and its gradient."""
    def total(positions):
        inside = positions[jnp.abs(positions) < 2.0]

        def near(sum_, x):
            d = inside - x
            d = d[(jnp.abs(d) < radius) & (d != 0)]
            return sum_ + jnp.exp(-d * d).sum(), d.size

        sum_, neighbours = lax.scan(near, 0.0, inside)
        return sum_, jnp.asarray(neighbours)

    (sum_, neighbours), slope = nj.value_and_grad(total, has_aux=True)(positions)
    return sum_, neighbours, slope


def run():
    signal = jnp.sin(jnp.arange(40.0)) * jnp.linspace(0.5, 2.0, 40)
    at, first, peaks = events(signal, 0.8)
    whole, (kinds, times) = decoded(jnp.array([2, 0, 3, 1]), jnp.array([7, 5, 9, 7]))
    sum_, neighbours, slope = energy(jnp.array([0.0, 0.4, 1.1, 1.9, 2.5, -0.3]), 0.8)
    return {"above": at, "runs begin at": first, "largest": peaks, "decoded": whole, "kinds": kinds, "times": times,
            "energy": sum_, "neighbours": neighbours, "slope": slope}


def by_numpy(signal, threshold):
    """The same as events, in NumPy."""
    above = signal > threshold
    at = np.flatnonzero(above)
    first = np.flatnonzero(above & ~np.concatenate([[False], above[:-1]]))
    return at, first, np.maximum.reduceat(signal[at], np.searchsorted(at, first))


if __name__ == "__main__":
    from _figures import least
    signal, traced = np.sin(np.arange(3e5, dtype=np.float32)), []
    device = jnp.asarray(signal)
    compiled = nj.jit(lambda *given: traced.append(given) or events(*given), dynamic_shapes=True)
    for threshold in (0.5, 0.9, 0.99):
        results = compiled(device, threshold)
        same = all(np.array_equal(a, b) for a, b in zip(results, by_numpy(signal, threshold), strict=True))
        [ours], [theirs] = least([compiled], device, threshold, repeats=5), least([by_numpy], signal, threshold, repeats=5)
        print(f"{results[0].size} events in {results[1].size} runs of {signal.size}: {ours:.1f} ms, by NumPy {theirs:.1f} ms, "
              f"results of {sum(r.nbytes for r in results) / 1024:.0f} KiB, equal: {same}")
    print("programs for these sizes =", len(traced))
    for name, value in run().items():
        print(name, value, sep=" = ")
