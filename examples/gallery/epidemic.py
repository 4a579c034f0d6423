"""
An epidemic, its parameters and its forecast
============================================

A stochastic epidemic is recorded for 22 days. A model of susceptible, infected and recovered people, integrated by
Runge and Kutta's method, is fitted by a random walk through its posterior: 64 walkers at once, whose paths fan out
into a forecast.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

PEOPLE, DAYS, SEEN, WALKERS, DRAWS = 10_000.0, 100, 22, 64, 1500


def curve(params):
    """Infected people on every day."""
    contact, recovery, first = jnp.exp(params)

    def slope(y):
        new, well = contact * y[0] * y[1] / PEOPLE, recovery * y[1]
        return jnp.stack([-new, new - well])

    def day(y, _):
        def quarter(_, y):
            k1 = slope(y)
            k2 = slope(y + k1 / 8)
            k3 = slope(y + k2 / 8)
            return y + (k1 + 2 * k2 + 2 * k3 + slope(y + k3 / 4)) / 24

        return lax.fori_loop(0, 4, quarter, y), y[1]

    return lax.scan(day, jnp.stack([PEOPLE - first, first]), None, length=DAYS)[1]


TRUTH = jnp.log(jnp.array([0.4, 0.15, 5.0]))


def record(key):
    """What is counted: Poisson numbers around a tenth of the infected."""
    return nj.random.poisson(key, curve(TRUTH) / 10)


def log_density(params, counts):
    rate = curve(params)[:SEEN] / 10
    return jnp.sum(counts[:SEEN] * jnp.log(rate) - rate) - 0.5 * jnp.sum((params - jnp.log(jnp.array([0.3, 0.1, 10.0]))) ** 2)


@nj.jit
def run():
    k1, k2, k3 = nj.random.split(nj.random.key(1), 3)
    counts = record(k1)

    def walk(key, start):
        def step(state, key):
            params, now = state
            to_move, to_choice = nj.random.split(key)
            new = params + jnp.array([0.02, 0.04, 0.06]) * nj.random.normal(to_move, (3,))
            then = log_density(new, counts)
            accept = jnp.log(nj.random.uniform(to_choice)) < then - now
            state = jnp.where(accept, new, params), jnp.where(accept, then, now)
            return state, state[0]

        return lax.scan(step, (start, log_density(start, counts)), nj.random.split(key, DRAWS))[1]

    starts = TRUTH + 0.2 * nj.random.normal(k2, (WALKERS, 3))
    return counts, nj.vmap(walk)(nj.random.split(k3, WALKERS), starts)


counts, draws = run()
last = draws[:, -1]
kept = jnp.exp(draws[:, 700:].reshape(-1, 3))
print("contact, recovery, first:", kept.mean(0).round(3).tolist(), "made with", jnp.exp(TRUTH).round(3).tolist())
assert abs(jnp.log(kept.mean(0)) - TRUTH)[:2].max() < 0.25

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.plot(nj.vmap(curve)(last).T / 10, color="tab:blue", lw=0.4, alpha=0.6)
left.plot(counts[:SEEN], "k.", label="seen")
left.plot(jnp.arange(SEEN, DAYS), counts[SEEN:], "r.", ms=3, label="not yet seen")
left.set(xlabel="day", title="forecasts of 64 walkers")
left.legend()
right.plot(kept[::20, 0], kept[::20, 1], ".", ms=2)
right.plot(*jnp.exp(TRUTH)[:2], "r*", ms=12)
right.set(xlabel="contact rate", ylabel="recovery rate", title="posterior")
plt.show()
