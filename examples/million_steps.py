"""Reverse mode through a million data-dependent steps of a `while_loop`, in the memory of some hundred states."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def settled(stiffness, start, end):
    """Where a damped spring is at a time, by steps that are shorter where it is fast; and how many steps that takes."""
    def before_end(state):
        return state[2] < end

    def step(state):
        x, v, t, count = state
        dt = 1e-5 / (1.0 + 0.1 * jnp.abs(v))
        v = v - dt * (stiffness * x + 0.05 * v)
        return x + dt * v, v, t + dt, count + 1

    x, _, _, count = lax.while_loop(before_end, step, (start, start * 0, end * 0, 0))
    return x, count


def gradient(end):
    return nj.jit(nj.value_and_grad(lambda k: settled(k, 1.0, end), has_aux=True))


def run(end=0.01):
    (x, count), slope = gradient(end)(2.0)
    near = [settled(k, 1.0, end)[0] for k in (1.99, 2.01)]
    return {"position": x, "steps": count, "gradient": slope, "by differences": (near[1] - near[0]) / 0.02}


if __name__ == "__main__":
    from _figures import least, temporaries
    with nj.enable_x64(True):
        for end in (0.1, 1.0, 9.8):
            fun = gradient(end)
            (x, count), slope = fun(2.0)
            [ms] = least([fun], 2.0, repeats=2)
            print(f"{int(count)} steps: position {float(x):.6f}, gradient {float(slope):.6f}, "
                  f"{temporaries(fun, 2.0):.0f} KiB of temporaries, {ms:.1f} ms")
    for name, value in run().items():
        print(name, value, sep=" = ")
