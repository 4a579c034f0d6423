"""The spread of a mean, by drawing samples anew."""
import numjet as nj
import numjet.numpy as jnp


def run():
    data = jnp.array([2.1, 3.4, 1.9, 5.6, 4.4, 3.3, 2.8, 4.9])
    draw = lambda key: nj.random.choice(key, data, (data.size,)).mean()
    means = nj.jit(nj.vmap(draw))(nj.random.split(nj.random.key(1), 200))
    return {"mean": means.mean(), "deviation": means.std(), "quartiles": jnp.percentile(means, jnp.array([25.0, 50.0, 75.0]))}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
