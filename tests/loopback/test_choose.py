"""The loopback's own choice of OSTs is, step by step, what the model in Python gives."""

import errno
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from choose_library import (
    COUNTS,
    DEAD,
    DEGRADED,
    FULL,
    GIB,
    INACTIVE,
    MIB,
    NO_CREATE,
    ORDER,
    READ_ONLY,
    SOURCES,
    THREE_BY_FIVE,
    Mds,
    Model,
    Noted,
    Seen,
    compile_choose,
    mds_of,
    osts_of,
    units,
)  # fmt: skip
from hypothesis import given, settings
from hypothesis import strategies as st

TOPOLOGIES = {
    "3x5": THREE_BY_FIVE,
    "uneven servers": osts_of([7, 7, 3, 3, 3, 3, 9, 3, 7]),
    "holes": osts_of([0, 1, 2, 0, 1, 2, 2], indices=[0, 3, 4, 9, 17, 40, 65000]),
    "one server": osts_of([0] * 15),
    "one ost": osts_of([0]),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_choose(tmp_path_factory.mktemp("choose") / "choose.so", "-shared", "-fPIC")


@pytest.fixture
def mds(library):
    return partial(mds_of, library)


class Both:
    """The C code and the model side by side: each call goes to both, with equal chance."""

    def __init__(self, library, osts, seed=1):
        self.chance = Noted(seed), Noted(seed)
        self.mds = Mds(library, osts, self.chance[0].randrange)
        self.model = Model(osts, self.chance[1])

    def see(self, osts):
        self.mds.see(osts)
        self.model.see(osts)

    def choose(self, stripe_count, overstripe=False, others=(), now_s=0):
        expected = self.model.choose(stripe_count, overstripe, others, now_s)
        try:
            chosen = self.mds.choose(stripe_count, overstripe, others, now_s)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            chosen = []
        assert chosen == expected
        assert self.chance[0].bounds == self.chance[1].bounds
        return chosen


# Round robin


def test_servers_take_turns(mds):
    alike = mds(THREE_BY_FIVE, draws=[14])
    assert [alike.choose(1) for _ in ORDER] == [[ost] for ost in ORDER]


def test_files_follow_each_other_in_that_order(mds):
    alike = mds(THREE_BY_FIVE, draws=[2])
    assert alike.choose(4) == ORDER[3:7]
    assert alike.choose(4) == ORDER[7:11]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_round_robin_is_the_models_for_thousands_of_files(library, topology):
    osts = TOPOLOGIES[topology]
    both = Both(library, osts)
    for file in range(3000):
        assert both.choose(COUNTS[file % 5])
    # Starts were drawn twice: at first, and after (2000/N + 30)·N files.
    assert both.chance[0].bounds == [len(osts)] * 2


@pytest.mark.parametrize("closed", [READ_ONLY, NO_CREATE, FULL, INACTIVE, DEGRADED])
@pytest.mark.parametrize("topology", ["3x5", "uneven servers", "holes"])
def test_round_robin_passes_osts_over_as_the_model_does(library, topology, closed):
    osts = TOPOLOGIES[topology]
    states = {1: closed, 3: DEGRADED, 4: closed}
    both = Both(library, [replace(ost, states=states.get(i, 0)) for i, ost in enumerate(osts)])
    seen = {ost for file in range(300) for ost in both.choose(COUNTS[file % 5])}
    assert (osts[1].index in seen) == (closed == DEGRADED)


def test_overstriping_goes_round_as_often_as_in_the_model(library):
    states = {2: FULL, 3: DEGRADED}
    for osts in (osts_of([0, 0, 1], states=states), osts_of([0] * 12, states=states)):
        both = Both(library, osts)
        for file in range(500):
            both.choose((1, 7, 12, 40, 3)[file % 5], overstripe=True)


def test_osts_of_other_components_are_left_if_possible(library):
    both = Both(library, THREE_BY_FIVE)
    for file in range(200):
        others = [ost for ost in range(15) if (ost * file) % 4 == 1]
        chosen = both.choose(4, others=others)
        assert len(chosen) == 4
        assert not set(chosen) & set(others)
        assert len(both.choose(12, others=others)) == 12


def test_a_dead_server_does_not_hinder_creates(mds):
    osts = osts_of([0, 0], states={0: DEAD, 1: DEAD})
    assert mds(osts, draws=[0]).choose(2) == [1, 0]


# QOS


def test_penalties_are_those_of_a_running_mds_with_one_server(library):
    # What is drawn below is the weight of the one OST that takes objects: a = 3137536, then
    # less P = 14 · 22760 = 318640.
    chance = Noted(1)
    closed = dict.fromkeys(range(1, 15), NO_CREATE)
    space = units(3137536, *[2518747] * 13, 2518753)
    one = Mds(library, osts_of([0] * 15, space, closed), chance.randrange)
    assert [one.choose(1), one.choose(1)] == [[0], [0]]
    assert chance.bounds == [3137536, 2818896]


def test_penalties_of_servers_are_those_worked_out_by_hand(library):
    chance = Noted(1)
    closed = dict.fromkeys((1, 2, 3), NO_CREATE)
    osts = osts_of([0, 0, 1, 1], units(1024000, 512000, 512000, 512000), closed)
    two = Mds(library, osts, chance.randrange)
    for _ in range(3):
        two.choose(1)
    # P = 4q − q with q = 17333, then P/2 + 3q; R = 2Q − Q with Q = 39000, then R/2 + Q.
    assert chance.bounds == [1024000, 1024000 - 51999 - 39000, 1024000 - 77998 - 58500]


@pytest.mark.parametrize("topology", ["3x5", "uneven servers", "holes", "one server"])
def test_weighted_choices_are_the_models(library, topology):
    osts = [
        replace(ost, available_bytes=space)
        for ost, space in zip(TOPOLOGIES[topology], units(*range(10**6, 10**6 + 15 * 10**5, 10**5)),
                              strict=False)
    ]  # fmt: skip
    both = Both(library, osts)
    now_s = 1000
    for file in range(1200):
        chosen = both.choose((1, 4, 7, 2)[file % 4], now_s=now_s)
        now_s += file % 3
        if file % 10 == 0:
            # What was written is seen some time later, and penalties have aged by then.
            now_s += (0, 9, 60, 400, 1500)[file // 10 % 5]
            osts = [
                replace(ost, available_bytes=ost.available_bytes - MIB * (ost.index in chosen))
                for ost in osts
            ]
            both.see(osts)


@pytest.mark.parametrize(("least", "weighted"), [(213000, True), (213001, False)])
def test_space_within_17_percent_is_left_to_round_robin(mds, least, weighted):
    # Round robin draws S = 0 and takes slot 1. A mark of 0 takes the first OST.
    differing = mds(osts_of([0, 1], units(256000, least)), draws=[0])
    assert differing.choose(1) == ([0] if weighted else [1])


def test_the_choice_between_both_follows_the_space(library):
    alike = osts_of([0, 0, 1, 1])
    apart = [replace(alike[0], available_bytes=4 * GIB), *alike[1:]]
    both = Both(library, alike)
    for now_s in range(0, 600, 3):
        both.choose(2, now_s=now_s)
        if now_s % 60 == 0:
            both.see(apart if now_s % 120 == 0 else alike)
        # An OST that comes and goes changes who is charged, too.
        if now_s % 90 == 0:
            both.see([replace(apart[0], states=INACTIVE), *apart[1:]])


def test_penalties_last_while_an_ost_is_away(library):
    here = osts_of([0, 0, 1, 1], [4 * GIB, 6 * GIB, 8 * GIB, 10 * GIB])
    for away in ({"states": INACTIVE}, {"available_bytes": 0}):
        for gone in ({3}, {2, 3}, {0, 1, 2, 3}):
            both = Both(library, here)
            for now_s in range(60):
                both.choose(2, now_s=now_s)
                if now_s % 3 == 0:
                    both.see([replace(o, **away) if o.index in gone else o for o in here])
                if now_s % 3 == 1:
                    both.see(here)


@pytest.mark.parametrize("passed_s", [47, 48, 400, 1279, 1280, 1287, 1288])
def test_penalties_of_huge_osts_age_as_the_models(library, passed_s):
    # Penalties of 2^44 units are still something after 32 halvings, which come before the last age.
    huge = [Seen(i, i, (3 + i) << 51, 0, 1 << 54) for i in range(4)]
    both = Both(library, huge)
    for now_s in range(0, 40 * passed_s, passed_s):
        both.choose(2, now_s=now_s)
        both.see([*huge[:3], replace(huge[3], available_bytes=(6 << 51) - now_s * 256)])


def test_what_qos_cannot_give_is_left_to_round_robin(library):
    spaces = [4 * GIB, 6 * GIB, 8 * GIB, 10 * GIB]
    both = Both(library, osts_of([0, 0, 1, 1], spaces, {1: DEGRADED, 2: DEGRADED}))
    for file in range(400):
        assert len(both.choose(file % 4 + 1)) == file % 4 + 1
        assert len(both.choose(9, overstripe=True)) == 9


# Both, whatever they are asked for


@st.composite
def looks(draw):
    """Several looks at the same OSTs."""
    count = draw(st.integers(1, 12))
    gaps = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    servers = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    # Far from full, for the model does not know of OSTs that stay so.
    space = st.sampled_from([10 * GIB, 10 * GIB, 10 * GIB - 256, 9 * GIB, 6 * GIB, GIB])
    state = st.sampled_from([0, 0, 0, 0, DEGRADED, READ_ONLY, NO_CREATE, FULL, INACTIVE, DEAD])
    return [
        [
            Seen(sum(gaps[: i + 1]), servers[i], draw(space), draw(state))
            for i in range(count)
        ]
        for _ in range(draw(st.integers(1, 4)))
    ]  # fmt: skip


wishes = st.lists(
    st.tuples(st.integers(1, 16), st.booleans(), st.integers(0, 400), st.integers(0, 4095)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(looks(), wishes, st.integers(0, 1000))
def test_any_choice_is_the_models(library, seen, asked, seed):
    both = Both(library, seen[0], seed)
    now_s = 0
    for look in seen:
        both.see(look)
        for stripe_count, overstripe, passed_s, mask in asked:
            now_s += passed_s
            others = [ost.index for i, ost in enumerate(look) if mask % 3 == 0 and mask >> i & 1]
            both.choose(stripe_count, overstripe, others, now_s)


# Memory


def test_no_memory_is_misused_whatever_is_asked(tmp_path):
    program = compile_choose(
        tmp_path / "any_choice", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
        f"-I{SOURCES}", str(Path(__file__).parent / "programs" / "any_choice.c"),
    )  # fmt: skip
    run = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
