"""The gradient of a long simulation that stores ten of its two thousand states, and computes the others again."""
import numjet as nj
import numjet.numpy as jnp

STEPS, DT = 2000, 0.005


def pendulums(state, _):
    """One step of a chain of coupled pendulums."""
    angle, speed = state
    force = -jnp.sin(angle) + 0.5 * (jnp.roll(angle, 1) - 2 * angle + jnp.roll(angle, -1))
    speed = speed + DT * force
    return (angle + DT * speed, speed), None


def energy(angle, budget):
    (angle, speed), _ = nj.checkpoint_scan(pendulums, (angle, jnp.zeros_like(angle)), length=STEPS, budget=budget)
    return jnp.sum(angle * jnp.arange(angle.size) + speed ** 2)


def run():
    start = jnp.linspace(0.0, 1.0, 8)
    few, many = [nj.jit(nj.grad(lambda x, budget=budget: energy(x, budget)))(start) for budget in (10, 500)]
    return {"gradient": few, "largest difference to the gradient with 500 stored states": jnp.abs(few - many).max()}


if __name__ == "__main__":
    from _figures import least, temporaries
    budgets = (10, 100, STEPS)
    gradients = [nj.grad(lambda x, budget=budget: energy(x, budget)) for budget in budgets]
    times = least([nj.jit(f) for f in gradients], jnp.ones(8))
    for budget, fun, ms in zip(budgets, gradients, times, strict=True):
        print(f"gradient with {budget} stored states: {temporaries(fun, jnp.ones(8)):.1f} KiB of temporaries, {ms:.2f} ms")
    for name, value in run().items():
        print(name, value, sep=" = ")
