"""Differential fuzzing: random programs run operation by operation and compiled; differences are reduced to small scripts.

    python -m numjet.tools.fuzz --count 500 --seed 0
    python -m numjet.tools.fuzz --count 20000 --jobs 2 --depth 3 --save found/
    python -m numjet.tools.fuzz --count 100 --backend xla_cpu           compiled by XLA instead
    python -m numjet.tools.fuzz --count 100 --jax-python /path/python   compared with JAX in that Python, too

Programs run in other processes: one that crashes or hangs is a failure like any other.
"""
from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty, Queue

from numjet.core.op import Missing, all_ops
from numjet.testing import programs, reduction
from numjet.testing.verdict import Verdict
from numjet.tools import fuzz_jobs
from numjet.tools.fuzz_jobs import Options, Worker

MAX_EXIT_CODE = 100
REPORT_EVERY = 500    # programs between two progress lines


class Campaign:
    """Runs the programs of a range of seeds in several processes, and adds up the verdicts."""

    def __init__(self, options: Options, shrink: bool = True, limit: float = 40.0, save: Path | None = None,
                 seconds: float = 60.0):
        self.options, self.shrink, self.limit, self.save, self.seconds = options, shrink, limit, save, seconds
        self.failed: list[tuple[int, Verdict]] = []
        self.kinds: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.productions: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.done = self.undecided = 0
        self._lock = threading.Lock()

    def run(self, seeds: range, jobs: int = 1) -> None:
        """Runs them all."""
        waiting: Queue[int] = Queue()
        for s in seeds:
            waiting.put(s)
        threads = [threading.Thread(target=self._work, args=(waiting,)) for _ in range(jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def _work(self, waiting: Queue[int]) -> None:
        worker = Worker(self.options, self.limit)
        try:
            while True:
                self._one(waiting.get_nowait(), worker)
        except Empty:
            worker.close()

    def _one(self, seed: int, worker: Worker) -> None:
        found = worker.ask(seed)
        v = found.verdict
        with self._lock:
            self.done += 1
            if self.done % REPORT_EVERY == 0:
                print(f"{self.done} programs, {len(self.failed)} failures", flush=True)
            self.undecided += v.undecided
            self.operations.update(v.operations)
            self.types.update(v.types)
            self.productions.update(found.productions)
            self.refused.update(found.refused)
            self.refused.update([v.refused] if v.refused else [])
        if v.wrong is not None:
            self._failure(seed, v, worker)

    def _failure(self, seed: int, v: Verdict, worker: Worker) -> None:
        with self._lock:
            self.failed.append((seed, v))
            self.kinds[v.kind] += 1
            again = self.kinds[v.kind] > 3  # enough of one kind have been reduced
        print(f"seed {seed}: {v.wrong}", flush=True)
        worker.close()  # the failure may have damaged it
        if not self.shrink or again or v.kind in ("generator:", "hang:", "slow:"):
            return
        text = self.smallest(seed, v, worker)
        worker.close()
        print(text, flush=True)
        if self.save is not None:
            self.save.mkdir(parents=True, exist_ok=True)
            (self.save / f"seed_{seed}.py").write_text(text)

    def smallest(self, seed: int, v: Verdict, worker: Worker) -> str:
        """A script of the smallest program found that fails alike."""
        p = fuzz_jobs.drawn(seed, self.options)[0]
        if worker.ask(p).verdict.kind != v.kind:
            return f"# seed {seed}: {v.wrong}\n# alone it does not fail so: what ran before it in the process counts"
        small = reduction.reduce(p, lambda q: worker.ask(q).verdict.kind == v.kind, self.seconds)
        return programs.script(small, f"Seed {seed}: {worker.ask(small).verdict.wrong}")

    def report(self, seconds: float) -> str:
        """The report: numbers of programs, failures and covered productions."""
        never = [n for n, op in sorted(all_ops().items()) if n not in self.operations and not isinstance(op.cpu, Missing)]
        dtypes = ", ".join(f"{n} {c}" for n, c in self.types.most_common())
        lines = [
            f"{self.done / max(seconds, 1e-9):.1f} programs a second; {self.undecided} results that rounding decides",
            f"operations: {len(self.operations)}, not met: {', '.join(never) or 'none'}",
            f"dtypes: {dtypes}",
            "productions: " + ", ".join(f"{n} {c}" for n, c in self.productions.most_common()),
        ]
        lines += [f"failures: {', '.join(f'{n} x {k}' for k, n in self.kinds.most_common())}"] if self.failed else []
        return "\n".join([*lines, f"{self.done - len(self.failed)} of {self.done} programs agree"])


def main() -> int:
    """Returns the number of programs that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=6, help="instructions of a program")
    parser.add_argument("--depth", type=int, default=2, help="nesting depth of programs")
    parser.add_argument("--backend", default="cpu", help="cpu, xla_cpu, gpu or tpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--limit", type=float, default=40.0, help="seconds that a program may compute")
    parser.add_argument("--jax-python", help="a Python that has JAX, to compare with")
    parser.add_argument("--checks", action="store_true", help="verify programs between the compiler's passes")
    parser.add_argument("--save", type=Path, help="folder for the scripts of failures")
    parser.add_argument("--refusals", action="store_true", help="show what tracing refused")
    parser.add_argument("--no-shrink", action="store_true")
    args = parser.parse_args()
    options = Options(args.length, args.depth, args.backend, args.jax_python, args.checks)
    campaign = Campaign(options, not args.no_shrink, args.limit, args.save)
    start = time.monotonic()
    campaign.run(range(args.seed, args.seed + args.count), args.jobs)
    if args.refusals:
        print("\n".join(f"{n} {text}" for text, n in campaign.refused.most_common(100)))
    print(campaign.report(time.monotonic() - start))
    return min(len(campaign.failed), MAX_EXIT_CODE)


if __name__ == "__main__":
    sys.exit(main())
