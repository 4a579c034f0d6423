"""Random programs agree op by op and compiled; crashes and hangs of workers are verdicts; JAX is one more opinion."""

import os
import subprocess
import sys

import pytest

from numjet.testing import generator, programs, verdict
from numjet.tools import fuzz, fuzz_jobs


def judged(seed, backend="cpu", **how):
    p = programs.renumbered(generator.Generator(seed, **how).program())
    return p, verdict.judge(p, backend)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_random_programs_agree(start):
    for seed in range(start, start + 20):
        p, found = judged(seed)
        assert found.wrong is None, f"seed {seed}: {found.wrong}\n{programs.script(p)}"


def test_deep_programs_agree():
    for seed in range(1000, 1030):
        p, found = judged(seed, length=4, depth=3)
        assert found.wrong is None, f"seed {seed}: {found.wrong}\n{programs.script(p)}"


def test_large_programs_agree():
    """Threads, the queue and parallel loops."""
    for seed in range(3000, 3012):
        p, found = judged(seed, length=4, depth=1, large=True)
        assert found.wrong is None, f"seed {seed}: {found.wrong}\n{programs.script(p)}"


def test_campaign_counts_what_it_ran():
    campaign = fuzz.Campaign(fuzz_jobs.Options(length=3, depth=1), shrink=False)
    campaign.run(range(500, 520), jobs=2)
    assert campaign.done == 20 and not campaign.failed
    assert campaign.operations and campaign.productions["record"] and "20 of 20 programs agree" in campaign.report(1.0)


def test_jax_process_agrees():
    """JAX, where it is installed, gives the same for the same text."""
    pytest.importorskip("jax")
    options = fuzz_jobs.Options(length=3, depth=1, jax_python=sys.executable)
    campaign = fuzz.Campaign(options, shrink=False)
    campaign.run(range(600, 612))
    assert not [v.wrong for _, v in campaign.failed], campaign.failed


@pytest.mark.parametrize(
    "text, kind",
    [
        ("__import__('os').abort()", "crash:"),
        ("__import__('time').sleep(1000)", "hang:"),
        ("__import__('os')._exit(3)", "crash:"),
    ],
)
def test_crashes_and_hangs_are_verdicts(text, kind):
    """And the next request is answered by a new process."""
    worker = fuzz_jobs.Worker(fuzz_jobs.Options(), limit=300.0)
    v = programs.Value(0, (3,), "float32")
    fine = programs.Instruction("{0} + 1", (v,), (programs.Value(1, (3,), "float32"),))
    call = f"nj.pure_callback(lambda x: {text}, {{0}}, {{0}})"
    bad = programs.Instruction(call, (v,), fine.outs)
    make = lambda i: programs.Program((programs.Input(v),), (i,), i.outs)
    assert worker.ask(make(fine)).verdict.wrong is None
    worker.limit = 0.5 if kind == "hang:" else 300.0
    assert worker.ask(make(bad)).verdict.kind == kind
    worker.limit = 300.0
    assert worker.ask(make(fine)).verdict.wrong is None
    worker.close()


def test_command_line():
    """As commit hooks call it."""
    command = [sys.executable, "-m", "numjet.tools.fuzz", "--count", "6", "--depth", "3", "--seed", "4", "--no-shrink"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0 and "6 of 6 programs agree" in done.stdout, done.stdout + done.stderr
