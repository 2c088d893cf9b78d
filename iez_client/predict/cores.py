"""Cores: the same work on many things, by all of them."""

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
FEWEST = 4  # things for each core: for less, a process takes longer to start than to work
PIECES = 16  # for each core: so that none waits long for another


def spread(
    work: Callable[[T], R], things: Sequence[T], progress: Callable[[int, int], None] | None = None
) -> list[R]:
    """The results in the order of the things, the same as without other cores."""
    cores = min(len(os.sched_getaffinity(0)), len(things) // FEWEST)
    if cores < 2:
        return _collected(map(work, things), len(things), progress)
    with warnings.catch_warnings():
        # Newer Pythons warn of fork beside the idle threads of numpy's library, which expects it.
        warnings.simplefilter("ignore", DeprecationWarning)
        forked = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(cores, mp_context=forked) as pool:
            done = pool.map(work, things, chunksize=max(1, len(things) // (PIECES * cores)))
            return _collected(done, len(things), progress)


def _collected(
    done: Iterator[R], count: int, progress: Callable[[int, int], None] | None
) -> list[R]:
    results = []
    for result in done:
        results.append(result)
        if progress:
            progress(len(results), count)
    return results
