"""Build: whatever a user has (CSV, JSON, a plan) in, the bytes of a plan out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_client import filesystems
from iez_client.filesystems import FileSystem
from iez_client.plan.bind import bind, rebind
from iez_client.plan.compile import compile_draft
from iez_client.plan.image import Body
from iez_client.plan.locate import may_lie_on
from iez_client.plan.read import Plan, check_owner, is_plan, read_plan
from iez_client.plan.source import read_source
from iez_client.plan.template import encode, parse
from iez_common.config import Config
from iez_common.errors import PlanError, UsageError


@dataclass(frozen=True, slots=True)
class Built:
    """A plan and what its builder should be told about it."""

    image: bytes | bytearray
    path_count: int
    template_count: int
    outside_count: int  # paths and templates that lie on no known file system
    outside_example: str
    is_bound: bool


def known_file_systems(config: Config) -> list[FileSystem]:
    """The mock if one is configured; else the Lustre file systems of this machine."""
    directory = config.path("mock")
    if directory is None and config["mock_state"].value:
        raise UsageError("a mock state file belongs to a mock directory", "--mock DIR")
    if directory is None:
        return filesystems.from_mounts()
    return [filesystems.from_mock(directory, config.path("mock_state"))]


def build_plan(source: Path, file_systems: Sequence[FileSystem], refresh_ms: int) -> Built:
    """Compiles a CSV or JSON file. Bound, unless all of it lies on no known file system."""
    draft = read_source(source, file_systems)
    path_count = len(draft.text_refs)
    total = path_count + len(draft.rules)
    is_bound = bool(file_systems) and (total == 0 or draft.outside_count < total)
    return Built(
        image=bind(compile_draft(draft), file_systems if is_bound else (), refresh_ms),
        path_count=path_count,
        template_count=len(draft.rules),
        outside_count=draft.outside_count,
        outside_example=draft.outside_example,
        is_bound=is_bound,
    )


def empty_plan(file_systems: Sequence[FileSystem] = (), refresh_ms: int = 0) -> bytearray:
    """A plan that watches the file systems and plans nothing."""
    return bind(Body(), file_systems, refresh_ms)


def plan_for_job(file: Path | None, config: Config) -> bytes | bytearray:
    """The plan of a job: from a source, from a plan, or without entries where there is no file."""
    if file is None:
        return empty_plan(known_file_systems(config), config.refresh_ms)
    if not is_plan(file):
        if file.suffix.lower() not in (".csv", ".json"):
            raise PlanError(
                f"{file}: it is not a plan file", "iez plan build --from FILE.csv -o PLAN"
            )
        file_systems = known_file_systems(config)
        built = build_plan(file, file_systems, config.refresh_ms)
        if not built.is_bound:
            raise _nowhere(file, file_systems)
        return built.image
    check_owner(file)
    plan = read_plan(file)
    # A mock asked for now beats what the plan was bound to; one in a settings file does not.
    if plan.is_bound and config["mock"].origin not in ("flag", "IEZ_MOCK"):
        return _up_to_date(plan, file, config)
    file_systems = known_file_systems(config)
    if not _holds_somewhere(plan, file_systems):
        raise _nowhere(file, file_systems)
    return rebind(plan, file_systems, config.refresh_ms)


def _up_to_date(plan: Plan, file: Path, config: Config) -> bytes | bytearray:
    """A bound plan as it is, or bound again where OSTs have come or gone since: a plan that names
    one that is gone is refused."""
    then = plan.file_systems()
    mounted = {each.prefix: each for each in filesystems.from_mounts()}
    now = [mounted.get(each.prefix, each) for each in then]
    chosen_ms = config.refresh_ms if config["refresh_ms"].origin != "default" else plan.refresh_ms
    if now == then and chosen_ms == plan.refresh_ms:
        return file.read_bytes()
    return rebind(plan, now, chosen_ms)


def _holds_somewhere(plan: Plan, file_systems: Sequence[FileSystem]) -> bool:
    """Whether some name of the plan can lie on the file systems. Sure only in saying no: reading
    every path of a large plan here would delay the job."""
    texts = bytes(plan.body().texts)
    if any(encode(name) + b"/" in texts for each in file_systems for name in each.names):
        return True
    return any(may_lie_on(parse(choice.text), file_systems) for choice in plan.choices())


def _nowhere(file: Path, file_systems: Sequence[FileSystem]) -> PlanError:
    if not file_systems:
        return PlanError(
            f"{file}: no Lustre file system is mounted here, so nothing can be placed",
            "--mock DIR to try a plan without Lustre",
        )
    names = ", ".join(each.prefix for each in file_systems)
    return PlanError(f"{file}: none of its paths lies below {names}", f"iez plan show {file}")
