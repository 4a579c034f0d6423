"""
Fitting an oscillator through an adaptive solver
================================================

Van der Pol's equation, integrated with error control by ``solve_ivp``, and its stiffness found from a noisy
recording. The gradient goes through the solver.
"""
import matplotlib.pyplot as plt
import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.integrate import solve_ivp

TIMES = jnp.linspace(0.0, 12.0, 121)


def recording(stiffness, start=2.0):
    def slope(t, y):
        return jnp.stack([y[1], stiffness * (1 - y[0] ** 2) * y[1] - y[0]])

    return solve_ivp(slope, (0.0, 12.0), jnp.stack([start, 0.0]), t_eval=TIMES, rtol=1e-5, atol=1e-6).y[0]


noisy = recording(2.0) + 0.15 * jnp.asarray(np.random.default_rng(1).normal(size=121), jnp.float32)


@nj.jit
def run():
    """Gauss and Newton's method, with the Jacobian of the whole solution."""
    def step(params, _):
        errors = recording(*params) - noisy
        jacobian = nj.jacfwd(lambda p: recording(*p))(params)
        change = jnp.linalg.lstsq(jacobian, errors)[0]
        return params - 0.7 * change, params

    return nj.lax.scan(step, jnp.array([1.2, 1.5]), None, length=12)


found, history = run()
print(f"stiffness {found[0]:.3f} (2), start {found[1]:.3f} (2)")
assert abs(found[0] - 2) < 0.1

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(TIMES, noisy, "k.", ms=3)
for params in (history[0], history[2], found):
    left.plot(TIMES, recording(*params), lw=1, label=f"stiffness {params[0]:.2f}")
left.legend()
right.plot(history, ".-")
right.set(xlabel="step", title="stiffness and start")
plt.show()
