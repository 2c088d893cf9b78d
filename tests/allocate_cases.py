"""Instances for tests of the allocator, drawn by hypothesis: a few numbers say what kind they are,
a seed fills them in, so that thousands of OSTs cost no more to draw than three."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from iez_common.allocate.columns import STRIPE_COUNT_MAX, Osts
from iez_common.allocate.kernel import Rooms, Stripes, best_kernel
from iez_common.allocate.problem import Problem

# 64 OSTs to a word of the kernel, 64 words to a group of them.
OST_COUNTS = (1, 2, 3, 5, 15, 64, 65, 129, 300)
MANY_OSTS = 5000
SIZES = ("equal", "two", "orders", "powers", "tiny", "zero")
COUNTS = ("one", "few", "any", "all")
SPACES = ("ample", "tight", "mixed")
ROOMS = ("level", "apart", "below")
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def often(test):
    """The test as it is, and under the marker `full` with many more examples."""
    few = settings(deadline=None, max_examples=60, suppress_health_check=CHECKS)
    many = settings(few, max_examples=500)
    both = [pytest.param(few, id="few"), pytest.param(many, id="many", marks=pytest.mark.full)]

    @pytest.mark.parametrize("examples", both)
    def run(examples):
        # Hypothesis takes settings for a test once, but this one may run with both.
        vars(test).pop("_hypothesis_internal_settings_applied", None)
        examples(test)()

    run.__doc__, run.__name__ = test.__doc__, test.__name__
    return run


@dataclass(frozen=True, slots=True)
class Case:
    """What the functions of a kernel are given."""

    rooms: Rooms
    stripes: Stripes
    room: np.ndarray  # of each OST, for `place` and `fit`


@st.composite
def cases(draw, ost_counts=OST_COUNTS, requests_max=40):
    osts = draw(st.sampled_from(ost_counts))
    requests = draw(st.integers(1, requests_max))
    chance = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    stripes = Stripes(
        _sizes(chance, draw(st.sampled_from(SIZES)), requests),
        _counts(chance, draw(st.sampled_from(COUNTS)), requests, osts),
    )
    free = _free(chance, draw(st.sampled_from(SPACES)), stripes, osts)
    even = draw(st.booleans())
    speed = np.ones(osts) if even else chance.uniform(0.01, 3, osts)
    offset = np.zeros(osts) if even else np.floor(chance.uniform(0, 1, osts) * free)
    room = _room(chance, draw(st.sampled_from(ROOMS)), stripes, free)
    return Case(Rooms(free, speed, offset), stripes, room)


def _sizes(chance, kind, requests):
    largest = 1 << int(chance.integers(1, 40))
    sizes = {
        "equal": np.full(requests, largest),
        "two": chance.choice([largest, largest // 3 + 1], requests),
        "orders": 10 ** chance.uniform(0, 12, requests),
        # A step of the kernel changes at each power of two.
        "powers": 2 ** chance.integers(0, 20, requests) + chance.integers(-1, 2, requests),
        "tiny": chance.integers(0, 4, requests),
        "zero": np.zeros(requests),
    }[kind]
    return sizes.astype(np.int64)


def _counts(chance, kind, requests, osts):
    osts = min(osts, STRIPE_COUNT_MAX)
    counts = {
        "one": np.ones(requests),
        "few": chance.integers(1, min(4, osts) + 1, requests),
        "any": chance.integers(1, osts + 1, requests),
        "all": np.full(requests, osts),
    }[kind]
    return counts.astype(np.int64)


def _free(chance, kind, stripes, osts):
    """Free bytes; where they are tight, OSTs soon have too little for a large stripe, but enough
    for the smaller ones that come later."""
    wanted = int((stripes.stripe_bytes * stripes.counts).sum())
    even = wanted / osts + int(stripes.stripe_bytes.max())
    free = {
        "ample": np.full(osts, 1 << 50),
        "tight": even * chance.uniform(0.6, 1.6, osts),
        "mixed": wanted * chance.uniform(0, 2, osts) ** 4,
    }[kind]
    return free.astype(np.int64)


def _room(chance, kind, stripes, free):
    """Room under some z; `apart`: OSTs that differ by thousands of stripes, so that wide requests
    reach far below the OSTs with most room."""
    osts, largest = len(free), int(stripes.stripe_bytes.max()) + 1
    room = {
        "level": np.minimum(free, stripes.stripe_bytes.sum()),
        "apart": largest * chance.choice([1, 3, 4000, 4001, 50000], osts),
        "below": chance.integers(-20 * largest, largest, osts),
    }[kind]
    return (room + chance.integers(0, largest // 64 + 2, osts)).astype(np.int64)


def problem_of(case, overstripe=False, tie_order=None):
    """The case as a problem with OSTs of four servers."""
    osts = len(case.rooms)
    made = Osts.make(case.rooms.free_bytes, case.rooms.free_bytes, oss=[i % 4 for i in range(osts)])
    counts = case.stripes.counts
    return Problem(
        case.stripes.stripe_bytes * counts, counts, np.full(len(counts), overstripe), made,
        np.ones(osts, np.bool_), case.rooms.free_bytes, case.rooms.speed, case.rooms.offset,
        tie_order,
    )  # fmt: skip


@contextmanager
def without_the_c_module() -> Iterator[None]:
    """As on a machine on which it is not built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "iez_common.allocate.native", None)
        best_kernel.cache_clear()
        try:
            yield
        finally:
            best_kernel.cache_clear()
