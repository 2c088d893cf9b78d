"""Bind: the body of a plan and the file systems it holds for in, a plan file out.

Every OST that a layout names is checked against those that exist; a plan that names another is
refused whole.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from iez_client.filesystems import FileSystem
from iez_client.plan.compile import compile_draft
from iez_client.plan.draft import Draft, Rule
from iez_client.plan.image import Body, assemble
from iez_client.plan.locate import file_systems_of
from iez_client.plan.read import Plan
from iez_client.plan.template import Name, decode, encode, parse
from iez_common.atomic import replacing
from iez_common.errors import UnknownOstError
from iez_common.units import format_indices


def bind(body: Body, file_systems: Sequence[FileSystem], refresh_ms: int) -> bytearray:
    """The bytes of a plan that holds on `file_systems`; none: nothing is placed by it."""
    image = assemble(body, file_systems, refresh_ms, time.time_ns())
    if file_systems:
        check_osts(Plan(image, "the plan"))
    return image


def rebind(plan: Plan, file_systems: Sequence[FileSystem], refresh_ms: int) -> bytearray:
    """A plan for other file systems than the one it has, or for the first ones."""
    body = plan.body()
    aliases = [encode(alias) + b"/" for each in file_systems for alias in each.aliases]
    texts = bytes(body.texts) if aliases else b""
    # Paths are kept below their file system's own prefix: those by an alias must be entered anew.
    if any(alias in texts for alias in aliases):
        body = compile_draft(redraft(plan, file_systems))
    return bind(body, file_systems, refresh_ms)


def redraft(plan: Plan, file_systems: Sequence[FileSystem]) -> Draft:
    """The draft that a plan could have come from."""
    draft = Draft(plan.name, "entry", tuple(file_systems))
    for number, entry in enumerate(plan.entries(), 1):
        draft.add_path(entry.path, draft.add_record(plan.record(entry.layout_ref)), number)
    for number, choice in enumerate(plan.choices(), 1):
        options = [draft.add_record(plan.record(reference)) for reference in choice.options]
        name = parse(choice.text)
        draft.add_rule(Rule(name, options, number, choice.field, choice.first_value))
    return draft


def check_osts(plan: Plan) -> None:
    """Refuses a plan that names an OST which its file system does not have."""
    unknown = plan.unknown_ost()
    file_systems = plan.file_systems()
    if unknown is not None:
        path, ost = unknown
        raise _unknown(decode(path), ost, file_systems_of(Name("", (path,)), file_systems)[0])
    named: dict[int, tuple[int, ...]] = {}
    live = {each.prefix: {ost.index for ost in each.osts} for each in file_systems}
    for choice in plan.choices():
        for file_system in file_systems_of(parse(choice.text), file_systems):
            for reference in choice.options:
                if reference not in named:
                    named[reference] = plan.layout(reference).osts
                for ost in named[reference]:
                    if ost not in live[file_system.prefix]:
                        raise _unknown(choice.text, ost, file_system)


def _unknown(path: str, ost: int, file_system: FileSystem) -> UnknownOstError:
    live = format_indices([each.index for each in file_system.osts]) or "none"
    return UnknownOstError(
        f"{path}: OST {ost} does not exist on {file_system.prefix}",
        f"one of its OSTs: {live}",
    )


def write_plan(path: Path, image: bytes | bytearray, keep_old: bool = False) -> None:
    """Puts a plan in place at once: no process ever sees half of it.

    With `keep_old` the plan that was there stays as `NAME.gN`: a running job has it mapped, and a
    mapping whose file is gone is a SIGBUS on a network file system.
    """
    # Not through umask: the library refuses a plan that others may write to.
    with replacing(path, 0o600) as file:
        file.write(image)
        if keep_old and path.exists():
            _keep(path)


def _keep(path: Path) -> None:
    for number in range(1, 1 << 30):
        try:
            path.with_name(f"{path.name}.g{number}").hardlink_to(path)
        except FileExistsError:
            continue
        return
