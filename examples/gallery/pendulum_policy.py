"""
Learning to balance by trial
============================

Proximal policy optimization (Schulman and others 2017) on a pendulum. 256 pendulums, the policy, its gradients and
all updates are one program: nothing leaves it until the training is over.
"""
import matplotlib.pyplot as plt

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

MANY, TIME, ROUNDS = 256, 100, 40


def observe(state):
    return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1] / 4])


def move(state, torque):
    """Angle 0 is upright; the reward is highest there."""
    angle, speed = state
    speed = jnp.clip(speed + 0.05 * (15 * jnp.sin(angle) + 3 * jnp.clip(torque, -2, 2)), -8, 8)
    angle = (angle + 0.05 * speed + jnp.pi) % (2 * jnp.pi) - jnp.pi
    return jnp.stack([angle, speed]), -(angle ** 2 + 0.1 * speed ** 2 + 0.001 * torque ** 2) / 10


def network(layers, x):
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    return (x @ layers[-1][0] + layers[-1][1])[..., 0]


def layers(key, sizes=(3, 64, 64, 1)):
    keys = nj.random.split(key, len(sizes))
    return [(nj.random.normal(k, (a, b)) / jnp.sqrt(a), jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:], strict=False)]


def log_chance(params, seen, torque):
    return -0.5 * ((torque - 2 * network(params["policy"], seen)) / jnp.exp(params["width"])) ** 2 - params["width"]


def trial(params, key):
    to_start, to_noise = nj.random.split(key)
    low, high = jnp.array([-jnp.pi, -1.0]), jnp.array([jnp.pi, 1.0])

    def step(state, noise):
        seen = observe(state)
        torque = 2 * network(params["policy"], seen) + jnp.exp(params["width"]) * noise
        new, reward = move(state, torque)
        return new, (seen, torque, reward)

    start = nj.random.uniform(to_start, (2,), minval=low, maxval=high)
    end, (seen, torque, reward) = lax.scan(step, start, nj.random.normal(to_noise, (TIME,)))
    value = network(params["value"], jnp.concatenate([seen, observe(end)[None]]))
    errors = reward + 0.97 * value[1:] - value[:-1]         # generalized advantage estimation
    gain = lax.scan(lambda a, e: (e + 0.97 * 0.95 * a,) * 2, 0.0, errors, reverse=True)[1]
    return seen, torque, gain, gain + value[:-1], log_chance(params, seen, torque), reward


def loss(params, batch):
    seen, torque, gain, goal, old, _ = batch
    gain = (gain - gain.mean()) / (gain.std() + 1e-6)
    ratio = jnp.exp(log_chance(params, seen, torque) - old)
    policy = -jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()
    return policy + 0.5 * jnp.mean((network(params["value"], seen) - goal) ** 2) - 0.002 * params["width"]


@nj.jit
def run():
    def adam(state, batch):
        params, mean, square, i = state
        slope = nj.grad(loss)(params, batch)
        mean = nj.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = nj.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, slope)
        rate = 2e-3 * jnp.sqrt(1 - 0.99 ** i) / (1 - 0.9 ** i)
        params = nj.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
        return params, mean, square, i + 1

    def one_round(state, key):
        batch = nj.vmap(trial, (None, 0))(state[0], nj.random.split(key, MANY))
        return lax.fori_loop(0, 10, lambda i, s: adam(s, batch), state), batch[-1].mean()

    k1, k2, k3 = nj.random.split(nj.random.key(0), 3)
    params = {"policy": layers(k1), "value": layers(k2), "width": jnp.array(0.0)}
    zero = nj.tree.map(jnp.zeros_like, params)
    (params, *_), rewards = lax.scan(one_round, (params, zero, zero, 1.0), nj.random.split(k3, ROUNDS))
    return params, rewards


params, rewards = run()
policy = lambda s, _: (move(s, 2 * network(params["policy"], observe(s)))[0], s)
paths = nj.vmap(lambda s: lax.scan(policy, s, None, length=150)[1])(jnp.stack([jnp.linspace(-3, 3, 12), jnp.zeros(12)], 1))
assert rewards[-1] > 0.5 * rewards[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(rewards)
left.set(xlabel="round of 25,600 steps", title="mean reward")
right.plot(jnp.arange(150) * 0.05, paths[:, :, 0].T, lw=1)
right.set(xlabel="time (s)", title="angle of twelve pendulums: 0 is upright")
plt.show()
