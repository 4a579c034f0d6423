"""Reading and updating at computed places."""
import numjet as nj
import numjet.numpy as jnp


def run():
    values, groups = jnp.arange(10.0), jnp.array([0, 1, 0, 2, 1, 1, 0, 2, 2, 2])
    sums = nj.ops.segment_sum(values, groups, 3)
    table = jnp.zeros((3, 4)).at[groups[:4], jnp.array([0, 1, 0, 3])].add(values[:4])
    lost = jnp.zeros(3).at[7].set(1.0, mode="drop")
    slopes = nj.grad(lambda v: jnp.sum(v[groups] * values))(jnp.ones(3))
    return {"sums": sums, "largest": nj.ops.segment_max(values, groups, 3), "table": table, "out of bounds is dropped": lost,
            "read": values[groups], "gradient of a read": slopes}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
