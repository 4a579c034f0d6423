"""Classification of handwritten digits: 1,797 images of 8 x 8 pixels, 360 of them held out.

The data is the test part of E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI Machine Learning
Repository, 1998; license CC BY 4.0), as scikit-learn ships it.
"""
from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import nn, random, tree
from numjet.demo import adam, bars

WIDTHS = (64, 128, 64, 10)
BATCH, EPOCHS, RATE, DECAY, HELD_OUT = 64, 40, 3e-3, 1e-3, 360

Params = list[tuple[Any, Any]]


class Data(NamedTuple):
    """Images as rows of 64 pixels in [0, 1], and their digits."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


@dataclass(frozen=True)
class Training:
    """Results of the training, for the report and the picture; the curves have one value per epoch."""

    data: Data
    losses: list[float]
    accuracies: list[float]
    probabilities: np.ndarray
    compile_seconds: float
    step_seconds: float
    steps: int
    run_seconds: float
    final: Params

    @property
    def accuracy(self) -> float:
        """Share of the held-out images that are classified rightly."""
        return self.accuracies[-1]


def read_digits() -> Data:
    """The data, always split in the same way."""
    with resources.files("numjet.demo").joinpath("digits.npz").open("rb") as file, np.load(file) as stored:
        images, labels = (stored["images"] / 16).astype(np.float32), stored["labels"].astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return Data(images[train], labels[train], images[test], labels[test])


def initial(key: Any, widths: tuple[int, ...] = WIDTHS) -> Params:
    """Weights of standard deviation sqrt(2 / inputs), biases of zero (He et al., ICCV 2015)."""
    keys = random.split(key, len(widths) - 1)
    return [
        (random.normal(k, (n, m)) * np.float32(np.sqrt(2 / n)), jnp.zeros(m))
        for k, n, m in zip(keys, widths, widths[1:], strict=False)
    ]


def logits(params: Params, images: Any) -> Any:
    """A multilayer perceptron with rectified linear units: (batch, 64) to (batch, 10)."""
    *hidden, (weight, bias) = params
    for w, b in hidden:
        images = nn.relu(images @ w + b)
    return images @ weight + bias


def loss(params: Params, images: Any, labels: Any) -> Any:
    """Mean cross-entropy."""
    log_probabilities = nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.sum(nn.one_hot(labels, WIDTHS[-1]) * log_probabilities, axis=1))


@nj.jit
def train_step(params: Params, state: adam.AdamState, images: Any, labels: Any, rate: Any) -> tuple[Any, Any, Any]:
    """One update on one minibatch: new parameters and state, and the loss. Weights decay towards zero."""
    value, grads = nj.value_and_grad(loss)(params, images, labels)
    params, state = adam.update(params, grads, state, rate)
    return tree.map(lambda p: p * (1 - rate * DECAY), params), state, value


@nj.jit
def probabilities(params: Params, images: Any) -> Any:
    """Probabilities of every digit for every image."""
    return nn.softmax(logits(params, images))


def accuracy(params: Params, images: Any, labels: Any) -> float:
    """Share of images classified rightly."""
    return float(np.mean(np.argmax(np.asarray(probabilities(params, images)), axis=1) == labels))


def minibatches(rng: np.random.Generator, data: Data) -> list[tuple[Any, Any]]:
    """All training images in a new order, in full batches."""
    order = rng.permutation(len(data.labels))
    parts = [order[i:i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
    return [(jnp.array(data.images[p]), jnp.array(data.labels[p])) for p in parts]


def train(epochs: int = EPOCHS) -> Training:
    """Trains from a fixed seed with a step size that falls to zero along a cosine."""
    data = read_digits()
    params = initial(random.key(0))
    state = adam.start(params)
    rng = np.random.default_rng(1)
    losses, accuracies, seconds = [], [], []
    bar = bars.bar(range(epochs), desc="digits", unit="epoch")
    for epoch in bar:
        rate = np.float32(RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2)
        values = []
        for images, labels in minibatches(rng, data):
            began = time.perf_counter()
            params, state, value = nj.block_until_ready(train_step(params, state, images, labels, rate))
            seconds.append(time.perf_counter() - began)
            values.append(float(value))
        losses.append(float(np.mean(values)))
        accuracies.append(accuracy(params, data.test_images, data.test_labels))
        bar.set_postfix_str(f"loss {losses[-1]:.4f}, test {accuracies[-1]:.1%}")
    usual = float(np.median(seconds[1:]))
    sure = np.asarray(probabilities(params, data.test_images))
    return Training(data, losses, accuracies, sure, compile_seconds=seconds[0] - usual, step_seconds=usual,
                    steps=len(seconds), run_seconds=sum(seconds[1:]) + usual, final=params)
