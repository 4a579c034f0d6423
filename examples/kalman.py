"""A Kalman filter of a moving point, and how its likelihood depends on the noise."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax

F, H, Q = jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.array([[1.0, 0.0]]), 0.01 * jnp.eye(2)


def log_likelihood(noise, measured):
    def step(state, z):
        mean, cov = F @ state[0], F @ state[1] @ F.T + Q
        s = H @ cov @ H.T + noise
        gain = jnp.linalg.solve(s, H @ cov).T
        r = z - H @ mean
        gained = -0.5 * (r @ jnp.linalg.solve(s, r) + jnp.linalg.slogdet(s)[1])
        return (mean + gain @ r, cov - gain @ H @ cov), gained
    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), measured[:, None])[1].sum()


def run():
    measured = jnp.sin(jnp.arange(20) * 0.1) + 0.1 * jnp.cos(jnp.arange(20) * 3.0)
    value, slope = nj.jit(nj.value_and_grad(log_likelihood))(0.05, measured)
    return {"log likelihood": value, "by the noise": slope}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
