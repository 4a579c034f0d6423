"""The gradient of where a ball lands: reverse mode through a `while_loop` with as many steps as the flight takes."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax

DT = 1e-3


def landing(velocity, drag):
    """The distance at which a ball thrown from the ground comes down, by Euler's method."""
    def flying(state):
        return state[0][1] >= 0

    def step(state):
        x, v = state
        return x + DT * v, v - DT * (jnp.array([0.0, 9.81]) + drag * jnp.linalg.norm(v) * v)

    (x, v) = lax.while_loop(flying, step, (jnp.zeros(2), velocity))
    return x[0] - x[1] * v[0] / v[1]  # back along the last step to the ground


def run():
    velocity = jnp.array([10.0, 12.0])
    distance, (by_velocity, by_drag) = nj.jit(nj.value_and_grad(landing, (0, 1)))(velocity, 0.02)
    batch = nj.jit(nj.vmap(nj.grad(landing, 1), (None, 0)))(velocity, jnp.array([0.0, 0.05, 0.5]))
    return {"distance": distance, "by velocity": by_velocity, "by drag": by_drag, "by drag, for several": batch}


if __name__ == "__main__":
    from _figures import least, temporaries
    ball = (jnp.array([10.0, 12.0]), 0.02)
    for order, fun in (("distance", landing), ("distance and gradient", nj.value_and_grad(landing, (0, 1)))):
        [ms] = least([nj.jit(fun)], *ball)
        print(f"{order}: {ms:.3f} ms, {temporaries(fun, *ball):.1f} KiB of temporaries")
    for name, value in run().items():
        print(name, value, sep=" = ")
