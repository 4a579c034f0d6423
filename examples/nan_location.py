"""A gradient that is NaN for one of many pendulums, in one of many steps: `debug_nans` says which, and of what."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax

PENDULUMS, STEPS = 32, 1000


def energy(stiffness, pushes):
    """The energy of a pendulum after its pushes; the square root has no derivative at 0."""
    def step(speed, push):
        speed = 0.999 * speed + 0.001 * jnp.sqrt(push * stiffness)
        return speed, None
    return lax.scan(step, 0.0, pushes)[0] ** 2


def repaired(stiffness, pushes):
    """As energy, with a derivative of 0 where there is no push."""
    def step(speed, push):
        force = jnp.where(push > 0, push * stiffness, 1.0)
        speed = 0.999 * speed + 0.001 * jnp.where(push > 0, jnp.sqrt(force), 0.0)
        return speed, None
    return lax.scan(step, 0.0, pushes)[0] ** 2


def data():
    """One of the pendulums is not pushed in one step."""
    return jnp.ones(PENDULUMS), jnp.ones((PENDULUMS, STEPS)).at[12, 737].set(0.0)


def gradients(fun):
    return nj.jit(nj.vmap(nj.grad(fun)))(*data())


def locate():
    """The error that names the place, on the CPU."""
    with nj.debug_nans(True):
        try:
            nj.block_until_ready(gradients(energy))
        except FloatingPointError as error:
            return error
    raise AssertionError("there is a NaN")


def run():
    with nj.debug_nans(True):
        return {"gradients": gradients(repaired)}


def with_checks(function, on):
    """The function, called with the flag."""
    def call(*args):
        with nj.debug_nans(on):
            return function(*args)
    return call


if __name__ == "__main__":
    from _figures import least
    jitted = nj.jit(nj.vmap(nj.grad(repaired)))
    without, by_flag = least([with_checks(jitted, on) for on in (False, True)], *data(), repeats=100)
    print(f"gradients of {PENDULUMS} pendulums, {STEPS} steps: {without:.2f} ms, with the flag {by_flag:.2f} ms, ratio "
          f"{by_flag / without:.2f}")
    print(locate())
    for name, value in run().items():
        print(name, value, sep=" = ")
