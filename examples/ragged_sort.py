"""Sorting by several keys, and looking up."""
import numjet.numpy as jnp
from numjet import lax


def run():
    year, score = jnp.array([3, 1, 2, 1, 3, 2]), jnp.array([0.5, 0.7, 0.1, 0.2, 0.5, jnp.nan])
    sorted_year, sorted_score, place = lax.sort((year, score, jnp.arange(6)), num_keys=2)
    return {"years": sorted_year, "scores": sorted_score, "places": place, "argsort": jnp.argsort(score),
            "looked up": jnp.searchsorted(jnp.array([0.0, 0.25, 0.5, 1.0]), jnp.array([0.3, 0.5, 2.0])),
            "largest two": lax.top_k(jnp.array([3.0, 9.0, -1.0, 4.0]), 2), "median": jnp.nanmedian(score)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
