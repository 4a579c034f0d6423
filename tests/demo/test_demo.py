"""The demo finds what is known of its data, and its parts in NumPy agree with those in numjet."""
from __future__ import annotations

import subprocess
import sys
from importlib import resources

import numpy as np
import pytest
from sklearn.datasets import load_digits

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.demo import __main__ as command, adam, digits, lotka_volterra, picture, plain_numpy


@pytest.fixture(scope="module")
def training():
    return digits.train(epochs=12)


@pytest.fixture(scope="module")
def fit():
    return lotka_volterra.fit()


def test_record_is_that_of_the_sources():
    record = lotka_volterra.read_record()
    assert record.year.tolist() == list(range(1900, 1921))
    assert float(record.hare.sum()) == pytest.approx(715.7, abs=0.01)
    assert float(record.lynx.sum()) == pytest.approx(423.5, abs=0.01)
    assert (record.hare[3], record.lynx[4]) == (np.float32(77.4), np.float32(59.4))  # the highest of both
    text = resources.files("numjet.demo").joinpath("hudson_bay.csv").read_text(encoding="utf8")
    assert text.startswith("#") and "Howard" in text


def test_classifier_learns(training):
    assert training.accuracy >= 0.95
    assert training.losses[-1] < training.losses[0] / 10
    assert training.probabilities.shape == (digits.HELD_OUT, 10)
    np.testing.assert_allclose(training.probabilities.sum(axis=1), 1, rtol=1e-5)


def test_held_out_images_are_not_trained_on():
    data = digits.read_digits()
    assert len(data.labels) + len(data.test_labels) == 1797
    seen = {row.tobytes() for row in data.images}
    assert not any(row.tobytes() in seen for row in data.test_images)


def test_gradient_agrees_with_backpropagation_by_hand():
    params = digits.initial(random.key(2))
    data = digits.read_digits()
    images, labels = data.images[:32], data.labels[:32]
    value, grads = nj.value_and_grad(digits.loss)(params, images, labels)
    weights = [np.array(x, np.float64) for layer in params for x in layer]
    want_value, want = plain_numpy.gradient(weights, images.astype(np.float64), labels)
    assert float(value) == pytest.approx(want_value, rel=1e-5)
    for g, w in zip([g for layer in grads for g in layer], want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-3, atol=1e-6)


def test_first_step_of_adam():
    """Its size is the rate, against the gradient's sign, whatever the gradient's size."""
    params = {"w": jnp.array([1.0, -2.0, 0.5])}
    new, state = adam.update(params, {"w": jnp.array([0.3, -4.0, 1e-3])}, adam.start(params), 0.01)
    np.testing.assert_allclose(np.asarray(new["w"]), [0.99, -1.99, 0.49], rtol=1e-4)
    assert int(state.count) == 1
    np.testing.assert_allclose(np.asarray(state.mean["w"]), [0.03, -0.4, 1e-4], rtol=1e-5)


def test_fit_finds_the_known_parameters(fit):
    """Carpenter (2018) reports posterior means of 0.55, 0.028, 0.024 and 0.80 for this model and record."""
    found = {name: value for name, (value, _) in fit.rates.items()}
    known = {"growth": 0.55, "predation": 0.028, "conversion": 0.024, "decline": 0.80}
    assert found == pytest.approx(known, rel=0.05)
    for value, error in fit.rates.values():
        assert 0.05 < error / value < 0.2
    assert 9.5 < fit.period < 11.5


def test_starting_points_meet(fit):
    assert fit.losses.shape == (3,)
    np.testing.assert_allclose(fit.losses, fit.losses.min(), rtol=2e-3)


def test_losses_and_slopes_agree_with_numpy():
    record = lotka_volterra.read_record()
    log_pelts = np.log(np.stack([record.hare, record.lynx], axis=1))
    models = lotka_volterra.Model(*jnp.array(lotka_volterra.STARTS.T, jnp.float32))
    value, grads = nj.vmap(nj.value_and_grad(lotka_volterra.loss), in_axes=(0, None))(models, jnp.array(log_pelts))
    want = plain_numpy.losses(lotka_volterra.STARTS.T, log_pelts.astype(np.float64))
    np.testing.assert_allclose(np.asarray(value), want, rtol=1e-4)
    slopes = plain_numpy.slopes(lotka_volterra.STARTS.T, log_pelts.astype(np.float64))
    np.testing.assert_allclose(np.stack([np.asarray(g) for g in grads]), slopes, rtol=2e-3, atol=1e-3)


def test_period_of_a_wave():
    t = np.arange(0, 60, 1 / lotka_volterra.STEPS_PER_YEAR)
    assert lotka_volterra.period_of(np.cos(2 * np.pi * t / 7.3)) == pytest.approx(7.3, rel=1e-4)


def test_picture_is_drawn(training, fit, tmp_path):
    path = picture.save(training, fit, tmp_path / "picture.png")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 50_000


def test_report_says_what_was_found(training, fit):
    text = "\n".join(command.describe_training(training) + command.describe_fit(fit))
    for part in ("test accuracy", "growth", "decline", "cycle", "NumPy", "first call"):
        assert part in text


def test_it_runs_without_the_extras():
    code = ("import sys; sys.modules['tqdm'] = sys.modules['matplotlib'] = None; sys.argv = ['demo', '--epochs', '12']; "
            "import runpy; runpy.run_module('numjet.demo', run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "test accuracy" in done.stdout and done.stdout.endswith("pip install 'numjet[demo]'\n") and not done.stderr


def test_the_digits_are_those_of_scikit_learn():
    theirs, ours = load_digits(), digits.read_digits()
    order = np.random.default_rng(0).permutation(1797)
    np.testing.assert_array_equal(np.concatenate([ours.test_images, ours.images]) * 16, theirs.data[order])
    np.testing.assert_array_equal(np.concatenate([ours.test_labels, ours.labels]), theirs.target[order])
