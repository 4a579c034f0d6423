"""The two loops of the demo in plain NumPy, with derivatives written by hand, for comparison with numjet's times."""
from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from numjet.demo.digits import BATCH, DECAY, RATE, Data, Params
from numjet.demo.lotka_volterra import STARTS, STEPS_PER_YEAR

Weights = list[np.ndarray]


def seconds_per_call(fun: Callable[[], object], calls: int) -> float:
    """Median time of a call, after one call to warm up."""
    fun()
    found = []
    for _ in range(calls):
        began = time.perf_counter()
        fun()
        found.append(time.perf_counter() - began)
    return float(np.median(found))


# ------------------------------------------------------------------------------------------------ digits

def gradient(weights: Weights, images: np.ndarray, labels: np.ndarray) -> tuple[float, Weights]:
    """Cross-entropy of a multilayer perceptron and its gradient by backpropagation; weights: w, b, w, b, ..."""
    layers = [images]
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        layers.append(np.maximum(layers[-1] @ w + b, 0))
    scores = layers[-1] @ weights[-2] + weights[-1]
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    value = -np.mean(np.log(shares[rows, labels]))
    shares[rows, labels] -= 1
    delta = shares / np.float32(len(labels))
    grads: Weights = []
    for k in reversed(range(len(layers))):
        grads = [layers[k].T @ delta, delta.sum(axis=0), *grads]
        if k:
            delta = (delta @ weights[2 * k].T) * (layers[k] > 0)
    return float(value), grads


def digits_step_seconds(params: Params, data: Data, calls: int = 200) -> float:
    """Time of one training step: gradient, Adam and decay of the weights."""
    weights = [np.array(x) for layer in params for x in layer]
    means, squares = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    images, labels = data.images[:BATCH], data.labels[:BATCH]
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        _, grads = gradient(weights, images, labels)
        scale = RATE * np.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        for w, g, m, s in zip(weights, grads, means, squares, strict=True):
            m += 0.1 * (g - m)
            s += 0.001 * (g * g - s)
            w -= np.float32(scale) * m / (np.sqrt(s) + 1e-8)
            w *= 1 - RATE * DECAY

    return seconds_per_call(step, calls)


# ------------------------------------------------------------------------------------------------ Lotka-Volterra

def losses(models: np.ndarray, log_pelts: np.ndarray) -> np.ndarray:
    """Mean squared residuals of models, all at once. models: (6, ...) logarithms; log_pelts: (years, 2)."""
    growth, predation, conversion, decline = np.exp(models[:4])
    state, h = models[4:], 1 / STEPS_PER_YEAR

    def velocity(state: np.ndarray) -> np.ndarray:
        hare, lynx = np.exp(state)
        return np.stack([growth - predation * lynx, conversion * hare - decline])

    total = np.zeros(models.shape[1:])
    for k in range((len(log_pelts) - 1) * STEPS_PER_YEAR + 1):
        if k % STEPS_PER_YEAR == 0:
            total += sum((state[i] - log_pelts[k // STEPS_PER_YEAR, i]) ** 2 for i in (0, 1))
        k1 = velocity(state)
        k2 = velocity(state + h / 2 * k1)
        k3 = velocity(state + h / 2 * k2)
        k4 = velocity(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return total / log_pelts.size


def slopes(models: np.ndarray, log_pelts: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Gradients by central differences: all shifted models of all starting points are integrated together."""
    shifts = step * np.concatenate([np.eye(6), -np.eye(6)]).T
    both = losses(models[:, None, :] + shifts[:, :, None], log_pelts)
    return (both[:6] - both[6:]) / (2 * step)


def fit_update_seconds(hare: np.ndarray, lynx: np.ndarray, calls: int = 5) -> float:
    """Time of one gradient of the fit, for the three starting points."""
    log_pelts = np.log(np.stack([hare, lynx], axis=1).astype(np.float64))
    return seconds_per_call(lambda: slopes(STARTS.T, log_pelts), calls)
