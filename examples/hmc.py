"""Hamiltonian Monte Carlo on a bent valley."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def log_density(q):
    return -0.5 * (q[0] ** 2 + 4 * (q[1] - 0.5 * q[0] ** 2) ** 2)


def leapfrog(q, p):
    force = nj.grad(log_density)

    def step(state, _):
        q, p = state
        p = p + 0.05 * force(q)
        q = q + 0.1 * p
        return (q, p + 0.05 * force(q)), None
    return lax.scan(step, (q, p), None, length=10)[0]


def transition(q, key):
    k1, k2 = nj.random.split(key)
    p = nj.random.normal(k1, (2,))
    new_q, new_p = leapfrog(q, p)
    energy = lambda q, p: -log_density(q) + 0.5 * p @ p
    accept = jnp.log(nj.random.uniform(k2)) < energy(q, p) - energy(new_q, new_p)
    q = jnp.where(accept, new_q, q)
    return q, (q, accept)


def run():
    keys = nj.random.split(nj.random.key(3), 40)
    _, (samples, accepted) = nj.jit(lambda k: lax.scan(transition, jnp.zeros(2), k))(keys)
    return {"first samples": samples[:5], "accepted": accepted.mean()}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
