"""Lustre's QOS: penalties and weights worked out by hand, and those of a running MDS."""

from random import Random

import numpy as np
import pytest
from lustre_problems import THREE_BY_FIVE, osts_of, problem_of

from iez_common.allocate.lustre_qos import Qos, Settings, lustre_qos
from iez_common.allocate.lustre_rr import lustre_rr
from iez_common.allocate.lustre_view import View
from iez_common.allocate.problem import Options

MIB, GIB = 1 << 20, 1 << 30


class Marks(Random):
    """Draws that are written down beforehand."""

    def __init__(self, *marks):
        super().__init__(0)
        self.marks = list(marks)

    def randrange(self, *bounds):
        return self.marks.pop(0)


def qos_of(units, servers, only=None, draw=None, **settings):
    """QOS over OSTs with that many units of 256 bytes; `only` one of them takes objects."""
    return Qos(view_of(units, servers, only), draw or Random(0), Settings(**settings))


def view_of(units, servers, only=None):
    closed = {i: "no-create" for i in range(len(units)) if only is not None and i != only}
    return View.of(osts_of(servers, [256 * each for each in units], closed))


FIFTEEN = [3137536, *[2518747] * 13, 2518753]
FOUR = [1024000, 512000, 512000, 512000]
TWO_SERVERS = [0, 0, 1, 1]


def test_numbers_of_a_running_mds_with_one_server():
    assert 256 * FIFTEEN[0] == 784384 * 1024
    assert sum(FIFTEEN) == 38400000
    qos = qos_of(FIFTEEN, [0] * 15, only=0)
    assert qos.allocate(1, 1) == [0]
    assert qos.per_object[0] == 22760
    assert qos.penalty[0] == 318640
    assert qos.weights()[0] == 2818896
    assert qos.server_per_object.tolist() == [130000]
    assert qos.server_penalty.tolist() == [0]


def test_numbers_of_two_servers_worked_out_by_hand():
    qos = qos_of(FOUR, TWO_SERVERS, only=0)
    assert qos.allocate(1, 1) == [0]
    # q: 26 · 1024000 / 512 = 52000, / 3 = 17333; 26 · 512000 / 512 = 26000, / 3 = 8666.
    assert qos.per_object.tolist() == [17333, 8666, 8666, 8666]
    # Q: 26 · 1536000 / 256 = 156000, / 2 OSTs / 2; 26 · 1024000 / 256 = 104000, / 2 / 2.
    assert qos.server_per_object.tolist() == [39000, 26000]
    # P = 4 · 17333 − 17333; R = 2 · 39000 − 39000.
    assert qos.penalty.tolist() == [51999, 0, 0, 0]
    assert qos.server_penalty.tolist() == [39000, 0]
    assert qos.weights().tolist() == [1024000 - 51999 - 39000, 512000 - 39000, 512000, 512000]
    # P = 25999 + 69332 − 17333; R = 19500 + 78000 − 39000.
    assert qos.allocate(1, 1) == [0]
    assert qos.penalty.tolist() == [77998, 0, 0, 0]
    assert qos.server_penalty.tolist() == [58500, 0]
    # Another OST is chosen, and every penalty falls by one object's.
    qos.see(view_of(FOUR, TWO_SERVERS, only=2))
    assert qos.allocate(1, 1) == [2]
    assert qos.penalty.tolist() == [60665, 0, 25998, 0]
    assert qos.server_penalty.tolist() == [19500, 26000]


@pytest.mark.parametrize(
    ("now_s", "penalty", "server_penalty"),
    [
        (47, 51999, 39000),  # age 5 is not above 5
        (48, 25999, 19500),  # age 6: halved once
        (400, 50, 38),  # age 50: halved ten times
        (1287, 0, 0),  # age 160: halved 32 times
    ],
)
def test_penalties_age_when_the_space_has_changed(now_s, penalty, server_penalty):
    qos = qos_of(FOUR, TWO_SERVERS, only=0)
    qos.allocate(1, 1, now_s=0)
    qos.see(view_of(FOUR, TWO_SERVERS))
    assert qos.applies(now_s)
    assert qos.penalty[0] == 51999  # nothing changed
    qos.see(view_of([*FOUR[:3], FOUR[3] - 1], TWO_SERVERS))
    assert qos.applies(now_s)
    assert qos.penalty[0] == penalty
    assert qos.server_penalty[0] == server_penalty


def test_penalties_are_dropped_after_32_times_the_greatest_age():
    qos = qos_of(FOUR, TWO_SERVERS)
    for now_s, left in ((8 * 160, 1 << 8), (8 * 161, 0)):
        qos.penalty[0] = 1 << 40
        qos.dirty = True
        qos.applies(now_s)
        assert qos.penalty[0] == left


def test_space_within_17_percent_is_left_to_round_robin():
    # 256000 · 213 / 256 = 213000
    assert qos_of([256000, 213000], [0, 1]).applies()
    assert not qos_of([256000, 213001], [0, 1]).applies()


def test_penalties_restart_after_a_time_of_equal_space():
    qos = qos_of(FOUR, TWO_SERVERS, only=0)
    qos.allocate(1, 1)
    qos.see(view_of([512000] * 4, TWO_SERVERS))
    assert not qos.applies()
    assert qos.penalty[0] == 51999
    qos.see(view_of(FOUR, TWO_SERVERS))
    assert qos.applies()
    assert qos.penalty.tolist() == [0, 0, 0, 0]
    assert qos.server_penalty.tolist() == [0, 0]


@pytest.mark.parametrize("racing", [1, 8])
def test_equal_space_gives_what_round_robin_gives(racing):
    problem = problem_of(osts_of(THREE_BY_FIVE), [GIB] * 30, 4)
    by_qos, by_turns = (s(problem, Options(9, racing)) for s in (lustre_qos, lustre_rr))
    assert by_qos.positions.tolist() == by_turns.positions.tolist()


def test_round_robin_is_left_with_one_active_ost_or_a_threshold_of_100_percent():
    assert not qos_of(FOUR, TWO_SERVERS, threshold_rr=256).applies()
    assert not qos_of([1024000], [0]).applies()


def test_the_mark_falls_on_the_first_ost_that_reaches_it():
    # One server: penalties start at 0, so the weights are the space.
    marks = {0: 0, 100000: 0, 100001: 1, 300000: 1, 300001: 2, 599999: 2}
    for mark, ost in marks.items():
        qos = qos_of([100000, 200000, 300000], [0, 0, 0], draw=Marks(mark))
        assert qos.allocate(1, 1) == [ost]


def test_an_ost_is_given_to_a_file_once():
    qos = qos_of([100000, 200000, 300000], [0, 0, 0], draw=Marks(0, 0, 0))
    assert qos.allocate(3, 3) == [0, 1, 2]


def test_degraded_osts_are_no_candidates_and_too_few_are_left_to_round_robin():
    osts = osts_of([0, 0, 0], [GIB, 2 * GIB, 4 * GIB], {2: "degraded"})
    qos = Qos(View.of(osts), Random(0))
    assert sorted(qos.allocate(2, 2)) == [0, 1]
    assert sorted(qos.allocate(3, 2)) == [0, 1]
    assert qos.allocate(3, 3) == []
    assert sorted(lustre_qos(problem_of(osts, [MIB], 3), Options()).of(0)) == [0, 1, 2]


def test_a_try_that_finds_too_few_objects_is_taken_back():
    osts = osts_of([0, 0, 0], [GIB, 2 * GIB, 4 * GIB])
    qos = Qos(View.of(osts, ready=(True, True, False)), Random(0))
    assert qos.allocate(3, 3) == []
    assert qos.dirty


def test_overstriping_beyond_the_osts_is_left_to_round_robin():
    osts = osts_of([0, 0, 0], [GIB, 2 * GIB, 4 * GIB])
    choice = lustre_qos(problem_of(osts, [MIB], 7, overstripe=True), Options())
    assert sorted(np.bincount(choice.positions).tolist()) == [2, 2, 3]


def test_emptier_osts_are_chosen_in_proportion_to_their_space():
    osts = osts_of([0, 1, 2, 3], [GIB, 2 * GIB, 3 * GIB, 4 * GIB])
    choice = lustre_qos(problem_of(osts, [MIB] * 4000, 1), Options(seed=1))
    shares = np.bincount(choice.positions) / 4000
    assert shares == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.03)
