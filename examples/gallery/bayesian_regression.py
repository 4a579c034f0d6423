"""
Hamiltonian Monte Carlo for a classifier
========================================

The posterior of a logistic regression on Wisconsin's breast cancer data (scikit-learn ships it): 569 tumours, 30
measurements. Eight chains run at once by ``vmap``; each transition is a leapfrog path of 20 gradients (Neal 2011).
"""
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

data = load_breast_cancer()
X = jnp.asarray((data.data - data.data.mean(0)) / data.data.std(0), jnp.float32)
Y = jnp.asarray(data.target, jnp.float32)
STEP, PATH, DRAWS, CHAINS = 0.05, 20, 600, 8


def log_density(w):
    logits = X @ w[1:] + w[0]
    return jnp.sum(Y * logits - jnp.logaddexp(0.0, logits)) - 0.5 * jnp.sum(w ** 2)


def transition(w, key):
    to_momentum, to_choice = nj.random.split(key)
    slope = nj.grad(log_density)

    def leap(state, _):
        w, p = state
        p = p + STEP / 2 * slope(w)
        w = w + STEP * p
        return (w, p + STEP / 2 * slope(w)), None

    p = nj.random.normal(to_momentum, w.shape)
    (new, q), _ = lax.scan(leap, (w, p), None, length=PATH)
    gain = log_density(new) - log_density(w) + 0.5 * (p @ p - q @ q)
    accept = jnp.log(nj.random.uniform(to_choice)) < gain
    w = jnp.where(accept, new, w)
    return w, (w, accept)


@nj.jit
def run():
    keys = nj.random.split(nj.random.key(0), (CHAINS, DRAWS))
    return nj.vmap(lambda k: lax.scan(transition, jnp.zeros(31), k)[1])(keys)


draws, accepted = run()
kept = draws[:, 200:]
# Gelman and Rubin's ratio compares the spread between chains with that within: 1 when they agree.
within = kept.var(1).mean(0)
ratio = jnp.sqrt(kept.mean(1).var(0) / within + 1)
print(f"accepted {accepted.mean():.0%}, largest ratio {ratio.max():.3f}")
assert accepted.mean() > 0.6 and ratio.max() < 1.2

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(draws[:, :, 1].T, lw=0.4)
left.set(xlabel="draw", ylabel=f"weight of {data.feature_names[0]}", title="eight chains")
means, spread = kept.mean((0, 1))[1:], kept.std((0, 1))[1:]
order = jnp.argsort(means)
right.errorbar(range(30), means[order], spread[order], fmt="o", ms=3)
right.set_xticks(range(30), [data.feature_names[i] for i in order.tolist()], rotation=90, fontsize=6)
right.set(title="weights, with standard deviations")
plt.show()
