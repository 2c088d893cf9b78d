"""The text and the JSON of `iez allocate`."""

from pathlib import Path

from iez_client.cli.commands import count_of, print_json, print_table
from iez_client.filesystems import KIND_NAMES
from iez_client.request.decide import Decided, Decision
from iez_client.request.layouts import layout_json
from iez_common.allocate import Certificate, Part, Placement
from iez_common.units import format_about, format_size

_COLUMNS = ("FILE", "BYTES", "COUNT", "SIZE", "OSTS")


def print_decision(decision: Decision) -> None:
    for number, group in enumerate(decision.groups):
        if number:
            print()
        if len(decision.groups) > 1:
            print(f"{group.file_system.prefix} ({KIND_NAMES[group.file_system.kind]})")
        rows = [
            row
            for file, placement in zip(group.files, group.allocation, strict=True)
            for row in _rows(file.path, file.request.write_bytes, placement)
        ]
        print_table(_COLUMNS, rows)
        print(certificate_line(group))


def _rows(path: str, write_bytes: int, placement: Placement) -> list[tuple[str, ...]]:
    """One row, or one for each part."""
    head = (path, format_about(write_bytes))
    if placement.rung == "nothing":
        return [(*head, "-", "-", "left to Lustre")]
    if placement.parts:
        rows: list[tuple[str, ...]] = []
        for number, part in enumerate(placement.parts):
            start = placement.parts[number - 1].end_bytes if number else 0
            cells = head if not number else ("", "")
            rows.append((*cells, str(len(part.osts)), format_size(part.stripe_size_bytes),
                         f"{extent(start, part)}: {_listed(part.osts)}"))  # fmt: skip
        return rows
    size = format_size(placement.stripe_size_bytes)
    return [(*head, str(placement.stripe_count), size, where(placement))]


def where(placement: Placement) -> str:
    """Where a file with a plain layout goes."""
    if placement.osts:
        return _listed(placement.osts)
    pool = placement.pool if placement.rung == "pool" else ""
    return f"any of pool {pool}" if pool else "any"


def extent(start_bytes: int | None, part: Part) -> str:
    end = "eof" if part.end_bytes is None else format_size(part.end_bytes)
    return f"{format_size(start_bytes or 0)}-{end}"


def _listed(osts: tuple[int, ...]) -> str:
    return " ".join(map(str, osts))


def format_z(certificate: Certificate, z: float) -> str:
    """In the unit of the objective."""
    return f"{100 * z:.4g} %" if certificate.objective == "space" else f"{z:.4g} s"


def certificate_line(group: Decided) -> str:
    found = group.allocation.certificate
    value, bound = (format_z(found, z) for z in (found.value, found.bound))
    return (
        f"{group.file_system.name}: {found.objective} {value}, at least {bound}: "
        f"ratio {found.ratio:.4f}; OSTCost {found.ostcost_new:.4f} new, "
        f"{found.ostcost_total:.4f} total; OSS {found.oss_imbalance:.4f}; "
        f"predicted {found.predicted_s:.4g} s"
    )


def print_written(output: Path, count: int) -> None:
    files = count_of(count, "file")
    print(f"{output}: {files} (try: iez plan build --from {output} -o PLAN)")


def print_decision_json(decision: Decision) -> None:
    print_json(
        {
            "file_systems": [_group_json(group) for group in decision.groups],
            "outside": [file.path for file in decision.outside],
        }
    )


def _group_json(group: Decided) -> dict[str, object]:
    return {
        "kind": KIND_NAMES[group.file_system.kind],
        "prefix": group.file_system.prefix,
        "name": group.file_system.name,
        "strategy": group.allocation.strategy,
        "certificate": certificate_json(group),
        "files": [
            {"path": file.path, "write_bytes": file.request.write_bytes} | placement_json(placement)
            for file, placement in zip(group.files, group.allocation, strict=True)
        ],
    }


def certificate_json(group: Decided) -> dict[str, object]:
    found = group.allocation.certificate
    return {
        "objective": found.objective,
        "value": found.value,
        "bound": found.bound,
        "ratio": found.ratio,
        "ostcost_new": found.ostcost_new,
        "ostcost_total": found.ostcost_total,
        "oss_imbalance": found.oss_imbalance,
        "predicted_s": found.predicted_s,
    }


def placement_json(placement: Placement) -> dict[str, object]:
    """`rung`, and the layout as a JSON source says it; none for a file that is left to Lustre."""
    layout = None if placement.rung == "nothing" else layout_json(placement)
    return {"rung": placement.rung, "layout": layout}
