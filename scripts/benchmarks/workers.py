"""Workers: two programs that take turns at short batches of work, so that noise hits both."""

import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PAIRS = 8  # of fresh processes: where their memory lies differs each time, and so does their speed


class Worker:
    """A program that works a batch whenever it is asked to (batch.h)."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environ: Mapping[str, str] | None = None,
        is_pinned: bool = True,
    ):
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            preexec_fn=pin if is_pinned else None,
        )
        self.name = str(command[0])

    def batch_ns(self) -> int:
        self.process.stdin.write(b"\n")
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"bench: {self.name} ended with code {self.process.wait()}")
        return int(answer)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def pin() -> None:
    """Workers share one CPU, and leave the others to whoever asks them."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def alternate(one: Worker, other: Worker, rounds: int) -> list[tuple[int, int]]:
    """Batch times in pairs: one other, other one, one other …"""
    pairs = []
    one.batch_ns(), other.batch_ns()
    for number in range(rounds):
        if number % 2:
            second, first = other.batch_ns(), one.batch_ns()
        else:
            first, second = one.batch_ns(), other.batch_ns()
        pairs.append((first, second))
    return pairs


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much longer a program's batches take with an environment than without."""

    ratio: float
    added_ns: float  # a batch


def compare(
    command: Sequence[str | Path],
    environ: Mapping[str, str],
    rounds: int,
    pairs: int = PAIRS,
    is_pinned: bool = True,
) -> Comparison:
    """The medians over pairs of fresh processes of the medians over rounds."""
    ratios, added = [], []
    for _ in range(pairs):
        with (
            Worker(command, environ, is_pinned) as changed,
            Worker(command, None, is_pinned) as plain,
        ):
            times = alternate(changed, plain, rounds)
        ratios.append(statistics.median(one / other for one, other in times))
        added.append(statistics.median(one - other for one, other in times))
    return Comparison(statistics.median(ratios), statistics.median(added))


def ratio(
    command: Sequence[str | Path], environ: Mapping[str, str], rounds: int, pairs: int = PAIRS
) -> float:
    return compare(command, environ, rounds, pairs).ratio
