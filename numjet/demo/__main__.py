"""The demo: trains on digits, fits hares and lynxes, prints the times of both, and draws one picture, if matplotlib is there.

    python -m numjet.demo [--picture numjet_demo.png]
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from numjet.demo import digits, lotka_volterra, plain_numpy

try:
    from numjet.demo import picture
except ModuleNotFoundError as missing:
    if (missing.name or "").split(".")[0] != "matplotlib":
        raise
    picture = None  # type: ignore[assignment]

UNITS = {"growth": "per year", "predation": "per year and thousand lynx pelts",
         "conversion": "per year and thousand hare pelts", "decline": "per year"}


def describe_training(result: digits.Training) -> list[str]:
    """Lines about the classifier."""
    plain = plain_numpy.digits_step_seconds(result.final, result.data)
    return [
        f"test accuracy          {result.accuracy:.2%} of {len(result.data.test_labels)} held-out images",
        f"first call             {result.compile_seconds * 1e3:.0f} ms to trace, differentiate and compile",
        f"{f'{result.steps} steps':<22} {result.run_seconds:.2f} s",
        f"one step               {result.step_seconds * 1e6:.0f} us; NumPy, with the gradient written by hand: "
        f"{plain * 1e6:.0f} us",
    ]


def describe_fit(result: lotka_volterra.Fit) -> list[str]:
    """Lines about the populations."""
    plain = plain_numpy.fit_update_seconds(result.record.hare, result.record.lynx)
    return [
        *[f"{name:<22} {value:.4f} +- {error:.4f} {UNITS[name]}" for name, (value, error) in result.rates.items()],
        f"losses                 {', '.join(f'{v:.5f}' for v in result.losses)} from three starting points",
        f"cycle                  {result.period:.2f} years from one maximum of the hares to the next",
        f"first call             {result.compile_seconds * 1e3:.0f} ms to trace, differentiate, vectorize and compile",
        f"{f'{result.updates} updates':<22} {result.run_seconds:.2f} s",
        f"one update             {result.update_seconds * 1e6:.0f} us for the three; NumPy, gradient by differences: "
        f"{plain * 1e6:.0f} us",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demo; returns 0, or 1 when the classifier misses 97 %."""
    parser = argparse.ArgumentParser(prog="python -m numjet.demo", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", default="numjet_demo.png", help="where the picture goes")
    parser.add_argument("--epochs", type=int, default=digits.EPOCHS, help="passes over the training images")
    options = parser.parse_args(argv)
    training = digits.train(options.epochs)
    fit = lotka_volterra.fit()
    print("\nHandwritten digits, multilayer perceptron", *describe_training(training), sep="\n  ")
    print("\nHares and lynxes of 1900 to 1920, Lotka-Volterra equations", *describe_fit(fit), sep="\n  ")
    drawn = "none, for want of matplotlib: pip install 'numjet[demo]'" if picture is None else picture.save(
        training, fit, options.picture)
    print(f"\npicture: {drawn}")
    return 0 if training.accuracy >= 0.97 else 1


if __name__ == "__main__":
    sys.exit(main())
