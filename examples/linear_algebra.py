"""Decompositions, put together again."""
import numjet as nj
import numjet.numpy as jnp


def run():
    a = jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    factor, (w, v) = jnp.linalg.cholesky(a), jnp.linalg.eigh(a)
    u, s, vt = jnp.linalg.svd(a[:2], full_matrices=False)
    q, r = jnp.linalg.qr(a)
    return {"cholesky": factor, "eigenvalues": w, "from eigen": (v * w) @ v.T, "from svd": (u * s) @ vt, "from qr": q @ r,
            "solution": jnp.linalg.solve(a, jnp.ones(3)), "inverse": jnp.linalg.inv(a), "determinant": jnp.linalg.det(a),
            "gradient": nj.grad(lambda m: jnp.linalg.slogdet(m)[1])(a)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
