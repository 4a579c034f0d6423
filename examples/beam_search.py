"""The likeliest paths through a chain of states, keeping the best three at every step."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax

BEAMS, STATES = 3, 5


def extend(beams, log_probabilities):
    scores, states = beams
    total = (scores[:, None] + log_probabilities[states]).reshape(-1)
    best, place = lax.top_k(total, BEAMS)
    return (best, place % STATES), (place // STATES, place % STATES)


@nj.jit
def search(tables):
    start = jnp.array([0.0, -1.0, -2.0]), jnp.array([0, 1, 2])
    return lax.scan(extend, start, tables)


def run():
    tables = nj.nn.log_softmax(nj.random.normal(nj.random.key(0), (6, STATES, STATES)))
    (scores, states), (parents, _) = search(tables)
    return {"scores": scores, "last states": states, "parents": parents}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
