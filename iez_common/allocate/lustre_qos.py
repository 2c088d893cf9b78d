"""Lustre's QOS: OSTs by weighted chance, when they differ in free space.

a, q, P, w (of an OST) and Q, R (of a server) are whole numbers in units of 256 bytes, as the MDS
publishes them in lod.*.qos_ost_weights; every division rounds down.
"""

from dataclasses import dataclass
from random import Random

import numpy as np

from iez_common.allocate.columns import Flags, Ints
from iez_common.allocate.lustre_rr import Create, RoundRobin, in_flight
from iez_common.allocate.lustre_view import View, choice_of
from iez_common.allocate.problem import Choice, Options, Problem

UNIT_BYTES = 256
_AGE_S = 8  # the MDS counts ages in steps of 8 s, and compares them with maxage_s


def lustre_qos(problem: Problem, options: Options) -> Choice:
    """What Lustre 2.17 gives by its defaults: QOS, and round robin where QOS does not apply.

    All files are created at one moment: the MDS asks its OSTs for their space every 5 s, so free
    space and what follows from it stay as they were, and no penalty ages. QOS holds a lock, so
    only the creates that fall back to round robin race.
    """
    view, draw = View.of(problem.osts), Random(options.seed)
    robin, qos = RoundRobin(view, draw), Qos(view, draw)
    counts, over = problem.stripe_count.tolist(), problem.overstripe.tolist()

    def begin(file: int) -> Create | list[int]:
        wanted, least = view.counts(counts[file], over[file])
        return qos.allocate(wanted, least) or robin.begin(counts[file], over[file])

    return choice_of(in_flight(robin, len(problem), begin, options.racing))


@dataclass(frozen=True, slots=True)
class Settings:
    """The MDS's parameters, with the defaults since 2.15."""

    prio_free: int = 230  # of 256: 90 %
    threshold_rr: int = 43  # of 256: 17 %
    maxage_s: int = 5


class Qos:
    """Weights and penalties. Those of a server count for each of its OSTs."""

    def __init__(self, view: View, draw: Random, settings: Settings | None = None) -> None:
        self.draw = draw
        self.settings = settings or Settings()
        self.server = np.array(view.server, np.int64)
        self.server_osts = np.bincount(self.server)
        osts, servers = len(self.server), len(self.server_osts)
        self.per_object = np.zeros(osts, np.int64)  # q
        self.penalty = np.zeros(osts, np.int64)  # P
        self.used_s = np.zeros(osts, np.int64)  # when an OST was chosen last
        self.server_per_object = np.zeros(servers, np.int64)  # Q
        self.server_penalty = np.zeros(servers, np.int64)  # R
        self.server_used_s = np.zeros(servers, np.int64)
        self.active_servers = 0  # G
        self.same_space = False
        self.reset = False
        self._look(view)
        self.dirty = True

    def see(self, view: View) -> None:
        """A later look at the same OSTs; only a change makes the penalties be worked out anew."""
        available, active = self.available, self.active
        self._look(view)
        if (available != self.available).any() or (active != self.active).any():
            self.dirty = True

    def _look(self, view: View) -> None:
        self.available = np.array(view.available_bytes, np.int64) // UNIT_BYTES  # a
        self.active = np.array(view.active, np.bool_)
        self.active_count = int(self.active.sum())  # M
        self.candidates = np.array(view.open, np.bool_) & ~np.array(view.degraded, np.bool_)
        self.ready = np.array(view.ready, np.bool_)

    def weights(self) -> Ints:
        """w of every OST, whether it can be chosen or not."""
        charged = self.penalty + self.server_penalty[self.server]
        weights: Ints = np.maximum(self.available - charged, 0)
        return weights

    def applies(self, now_s: int = 0) -> bool:
        """Whether QOS is used at all; works the penalties out where something changed."""
        if self.settings.threshold_rr >= 256 or self.active_count < 2:
            return False
        if self.dirty:
            self._work_out(now_s)
        return not self.same_space

    def allocate(self, wanted: int, least: int, now_s: int = 0) -> list[int]:
        """OSTs of one file, at least `least`; none where round robin has to do it."""
        if not self.applies(now_s):
            return []
        left = self.candidates.copy()
        count = int(left.sum())
        if count < least:
            return []
        chosen: list[int] = []
        for _ in range(min(wanted, count)):
            ost = self._pick(left)
            if ost is None:
                break
            chosen.append(ost)
            left[ost] = False
            self._charge(ost, now_s)
        if len(chosen) < least:
            # The objects go back; the penalties of the try stay.
            self.dirty = True
            return []
        return chosen

    def _pick(self, left: Flags) -> int | None:
        reached = (self.weights() * left).cumsum()
        total = int(reached[-1])
        mark = self.draw.randrange(total) if total else 0
        fit = (reached >= mark) & left & self.ready
        first = int(fit.argmax())
        return first if fit[first] else None

    def _charge(self, ost: int, now_s: int) -> None:
        server = self.server[ost]
        self.penalty[ost] //= 2
        self.penalty[ost] += self.per_object[ost] * self.active_count
        self.server_penalty[server] //= 2
        self.server_penalty[server] += self.server_per_object[server] * self.active_servers
        self.used_s[ost] = self.server_used_s[server] = now_s
        self.penalty = np.maximum(self.penalty - self.per_object * self.active, 0)
        self.server_penalty = np.maximum(self.server_penalty - self.server_per_object, 0)

    def _work_out(self, now_s: int) -> None:
        weight = 256 - self.settings.prio_free
        counted = self.active & (self.available > 0)
        space = self.available * counted
        sums = np.zeros(len(self.server_osts), np.int64)
        np.add.at(sums, self.server, space)
        self.active_servers = int((sums > 0).sum())
        # A single server cannot be penalised against another, so its OSTs are, twice.
        double = 2 if self.active_servers < 2 else 1
        shares = weight * self.available // 512 // (self.active_count - 1) * double
        self.per_object = np.where(counted, shares, self.per_object)
        self.penalty = np.where(
            counted, self._aged(self.penalty, now_s - self.used_s), self.penalty
        )
        parts = np.maximum(self.server_osts, 1) * max(self.active_servers - 1, 1)
        self.server_per_object = weight * sums // 256 // parts // 2
        self.server_penalty = self._aged(self.server_penalty, now_s - self.server_used_s)
        most = int(space.max())
        least = int(space[counted].min()) if most else 0
        self.dirty = False
        self.same_space = most * (256 - self.settings.threshold_rr) // 256 < least
        # Penalties start from nothing when QOS is entered the next time.
        self.reset = self.same_space

    def _aged(self, penalty: Ints, passed_s: Ints) -> Ints:
        age, maxage = passed_s // _AGE_S, self.settings.maxage_s
        halvings = np.where(age > maxage, age // maxage, 0)
        gone = (age > 32 * maxage) | self.reset
        return np.where(gone, 0, penalty >> np.minimum(halvings, 63))
