"""
Swinging up a pole
==================

Model predictive control of a cart with a pole. At every instant 512 variations of the plan are simulated side by side
by ``vmap``; the better ones count more in their average, the new plan (path integral control, Williams and others
2017). Its first force is used, and the plan moves on. Controller and simulation are one native program.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

H, HORIZON, STEPS = 0.04, 40, 150


def step(state, force):
    """A cart of 1 kg with a pole of 0.3 kg and 0.5 m; angle 0 hangs down."""
    x, angle, v, turn = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (force + 0.15 * turn ** 2 * sine + 0.3 * 9.81 * sine * cosine) / (1 + 0.3 * sine ** 2)
    twist = -(push * cosine + 9.81 * sine) / 0.5
    v, turn = v + H * push, turn + H * twist
    return jnp.stack([x + H * v, angle + H * turn, v, turn])


def cost(plan, state):
    def body(state, force):
        state = step(state, force)
        x, angle, v, turn = state
        price = 3 * (1 + jnp.cos(angle)) + 0.5 * x ** 2 + 0.05 * v ** 2 + 0.02 * turn ** 2 + 0.0005 * force ** 2
        return state, price

    end, prices = lax.scan(body, state, plan)
    return prices.sum() + 30 * (1 + jnp.cos(end[1])) + 0.5 * end[3] ** 2


@nj.jit
def run():
    def act(carry, key):
        state, plan = carry
        noise = 4 * nj.random.normal(key, (512, HORIZON))
        plans = jnp.clip(plan + noise, -15, 15)
        prices = nj.vmap(cost, (0, None))(plans, state)
        plan = nj.nn.softmax(-(prices - prices.min()) / 2) @ plans
        new = step(state, plan[0])
        return (new, jnp.concatenate([plan[1:], plan[-1:]])), (state, plan[0])

    start = jnp.array([0.0, 0.1, 0.0, 0.0])
    return lax.scan(act, (start, jnp.zeros(HORIZON)), nj.random.split(nj.random.key(0), STEPS))[1]


states, forces = run()
assert jnp.cos(states[-1, 1]) < -0.9          # upright

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
for k in range(0, STEPS, 4):
    x, angle = states[k, :2]
    left.plot([x, x + 0.5 * jnp.sin(angle)], [0, -0.5 * jnp.cos(angle)], color=plt.cm.viridis(k / STEPS), lw=1)
left.set(aspect="equal", title="from dark to bright: 6 seconds")
time = jnp.arange(STEPS) * H
right.plot(time, forces, label="force (N)")
right.plot(time, -jnp.cos(states[:, 1]) * 10, label="height of the pole, times 10")
right.set(xlabel="time (s)")
right.legend()
plt.show()
