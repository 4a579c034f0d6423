"""
A neuron's spikes
=================

Hodgkin and Huxley's model of the squid's axon (1952): four differential equations for the voltage of a membrane and
the gates of its channels. One ``scan`` integrates them; ``vmap`` does so for many currents at once, and gives the
firing rate as a function of the current. ``grad`` says how the rate's onset depends on a conductance.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

H = 0.02           # ms
STEPS = 10_000     # 200 ms


def rates(v):
    """Opening and closing rates of the gates n, m and h, in 1/ms."""
    n = 0.01 * (v + 55) / -jnp.expm1(-(v + 55) / 10), 0.125 * jnp.exp(-(v + 65) / 80)
    m = 0.1 * (v + 40) / -jnp.expm1(-(v + 40) / 10), 4 * jnp.exp(-(v + 65) / 18)
    h = 0.07 * jnp.exp(-(v + 65) / 20), 1 / (1 + jnp.exp(-(v + 35) / 10))
    return n, m, h


def slope(state, current, sodium=120.0):
    v, n, m, h = state
    ionic = sodium * m ** 3 * h * (v - 50) + 36 * n ** 4 * (v + 77) + 0.3 * (v + 54.4)
    gates = [opening * (1 - g) - closing * g for g, (opening, closing) in zip((n, m, h), rates(v), strict=True)]
    return jnp.stack([current - ionic, *gates])


def voltage(current, sodium=120.0):
    """The voltage in mV at every step, by Runge and Kutta's method of fourth order."""
    def step(y, _):
        k1 = slope(y, current, sodium)
        k2 = slope(y + H / 2 * k1, current, sodium)
        k3 = slope(y + H / 2 * k2, current, sodium)
        k4 = slope(y + H * k3, current, sodium)
        return y + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y[0]

    rest = jnp.array([-65.0, 0.317, 0.053, 0.596])
    return lax.scan(step, rest, None, length=STEPS)[1]


def spikes(v):
    """How often the voltage rises through 0."""
    return jnp.sum((v[:-1] < 0) & (v[1:] >= 0))


CURRENTS = jnp.linspace(0.0, 40.0, 64)   # microamperes per square centimetre


@nj.jit
def run():
    return nj.vmap(lambda current: spikes(voltage(current)))(CURRENTS) / (STEPS * H / 1000)


# %%
# One neuron, and the rates of 64.
trace = nj.jit(voltage)(10.0)
rate = run()
assert rate[0] == 0 and 60 < rate[20] < 120

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(jnp.arange(4000) * H, trace[:4000])
left.set(xlabel="time (ms)", ylabel="voltage (mV)", title="10 µA/cm²")
right.plot(CURRENTS, rate, ".-")
right.set(xlabel="current (µA/cm²)", ylabel="spikes per second", title="64 neurons by vmap")
plt.show()

# %%
# How much does the first spike's height change with the conductance of sodium? The derivative goes back through 500 steps.
height = nj.value_and_grad(lambda g: jnp.max(voltage(10.0, g)[:500]))
peak, per_conductance = nj.jit(height)(120.0)
print(f"peak {peak:.1f} mV, {per_conductance:.3f} mV per mS/cm²")
