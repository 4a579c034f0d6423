"""An edge filter over an image, and the gradient by the filter."""
import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def filtered(image, kernel):
    return lax.conv_general_dilated(image[None, None], kernel[None, None], (1, 1), "SAME")[0, 0]


def run():
    y, x = jnp.mgrid[0:8, 0:8]
    image = ((x - 3.5) ** 2 + (y - 3.5) ** 2 < 9).astype(jnp.float32)
    kernel = jnp.array([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]])
    pooled = lax.reduce_window(filtered(image, kernel), -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")
    return {"edges": pooled, "gradient": nj.grad(lambda k: jnp.sum(filtered(image, k) ** 2))(kernel)}


if __name__ == "__main__":
    for name, value in run().items():
        print(name, value, sep=" = ")
