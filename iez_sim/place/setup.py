"""A set-up: the files that are written, the OSTs that take them, and what is known about both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from iez_common.allocate.columns import Osts, Requests
from iez_common.records import Request


@dataclass(frozen=True, slots=True)
class SetUp:
    """One instance that every strategy gets."""

    name: str
    title: str
    requests: Requests
    osts: Osts
    jobs: tuple[str, ...]  # of each request
    racing: int  # processes that create at the same time
    paper: bool = False  # one of the eleven whose optimum is proved
    optimum: float = 0.0  # the least OSTCost of plain layouts; 0: not known

    @property
    def job_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.jobs))


def together(
    jobs: Mapping[str, Sequence[Request]],
) -> tuple[Requests, tuple[str, ...]]:
    """The files of jobs that start at the same moment: they create in turn, as long as they have
    files left. With them, the job of each."""
    owned = [[(job, request) for request in files] for job, files in jobs.items()]
    mixed = [each for turn in zip_longest(*owned) for each in turn if each is not None]
    return Requests.of(request for _, request in mixed), tuple(job for job, _ in mixed)
