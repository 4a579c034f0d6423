"""Fixtures for all tests."""
from __future__ import annotations

import gc
import hashlib
import os
import shutil
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator

import hypothesis
import numpy as np
import pytest

from numjet.core.op import overridden
from numjet.cpu.native_code import jit
from numjet.cpu.target import Target
from numjet.foundation.config import config, enable_x64
from numjet.runtime import device

# Neither this process nor those that tests start keep programs in the cache of the user who runs the tests.
os.environ["NUMJET_CACHE"] = "0"
config.update("numjet_cache", "0")
# Programs here run for a moment: their code is that of the first tier, which differs in LLVM's effort only.
config.update("numjet_tiers", "quick")
# XLA compiles thousands of small programs here: it neither optimizes them nor starts MLIR for loops.
QUICK_XLA = ("--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
             "--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", QUICK_XLA)
# No example fails because the machine is slow.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


def _keep_byte_code(config: pytest.Config) -> None:
    """Byte code of the processes that tests start, in a folder of this run, where Python is told to write none beside sources.

    Without any, hundreds of processes would each compile every module anew, which takes longer than what most of them test.
    """
    if not sys.dont_write_bytecode or "PYTHONPYCACHEPREFIX" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="numjet-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder


def pytest_configure(config: pytest.Config) -> None:
    _keep_byte_code(config)


class EmittedOnce:
    """Memoization of LLVM, the last programs' object code: what tests compile twice, to compare, costs its time once."""

    def __init__(self, emitted: Callable[[str, int, Target], bytes], most: int = 256):
        self.emitted, self.most = emitted, most
        self.known: OrderedDict[tuple[bytes, int, Target], bytes] = OrderedDict()

    def __call__(self, text: str, opt: int, target: Target) -> bytes:
        key = (hashlib.sha256(jit.without_comments(text).encode()).digest(), opt, target)
        code = self.known.pop(key, None) or self.emitted(text, opt, target)
        self.known[key] = code
        while len(self.known) > self.most:
            self.known.popitem(last=False)
        return code


jit._emitted = EmittedOnce(jit._emitted)  # type: ignore[assignment]


def _leave_out_of_collections() -> None:
    """Takes what lives now, such as the thousands of tests, out of Python's collections, each of which would visit it all."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    _leave_out_of_collections()


@pytest.fixture(scope="module", autouse=True)
def collects_what_it_makes() -> None:
    """Programs that earlier files left in caches are not looked through again and again."""
    _leave_out_of_collections()


def _shared_state() -> dict[str, object]:
    """What a test must leave to the next one as it found it."""
    return {"NumPy's error state": np.geterr(), "the mesh in use": config.numjet_mesh, "x64": config.enable_x64,
            "the default device": config.default_device, "rules in place of numjet's": dict(overridden)}


@pytest.fixture(autouse=True)
def leaves_no_state() -> Iterator[None]:
    """Fails the test that changes what the tests after it read, in place of one of these."""
    before = _shared_state()
    yield
    after = _shared_state()
    changed = [what for what in before if before[what] != after[what]]
    np.seterr(**before["NumPy's error state"])  # type: ignore[call-overload]
    if changed:
        pytest.fail(f"the test changed, for the tests after it: {', '.join(changed)}")


@pytest.fixture
def one_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of a process in which nobody listed the devices of another platform than the CPU."""
    monkeypatch.setattr(device, "other_platforms", set())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="safety tests with the counts that releases are held to")


@pytest.fixture
def x64() -> Iterator[None]:
    """64-bit dtypes for the duration of a test."""
    with enable_x64(True):
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
