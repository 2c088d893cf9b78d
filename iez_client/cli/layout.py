"""`iez layout`: the layouts that files have, as `lfs getstripe` tells them."""

import argparse
import sys
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser, print_json, print_table
from iez_client.file_layout import FileLayout, read_layout

if TYPE_CHECKING:
    from iez_common.layout import WireComponent


def parser(command: str) -> Parser:
    layout = Parser(
        command,
        "Prints the layouts of files: from Lustre, from the mock, or that there is none.\n"
        "Exit code 1 if a file cannot be read.",
        "  iez layout /lustre/run7/*.h5",
    )
    layout.add_argument("files", metavar="FILE", nargs="+", help="file to look at")
    layout.add_argument("--json", action="store_true", help="print JSON")
    layout.set_defaults(run=run_layout)
    return layout


def run_layout(options: argparse.Namespace) -> int:
    found = [read_layout(path) for path in options.files]
    if options.json:
        print_json({"files": [_json(each) for each in found]})
    else:
        _print_text([each for each in found if not each.error])
    for each in found:
        if each.error:
            print(f"iez: {each.path}: {each.error}", file=sys.stderr)
    return 1 if any(each.error for each in found) else 0


def _print_text(files: list[FileLayout]) -> None:
    rows = []
    for each in files:
        if each.layout is None:
            rows.append((each.path, "-", "-", "-", "-", "no layout"))
            continue
        name = each.path
        for component in each.layout.components:
            rows.append((name, *_cells(component)))
            name = ""  # further components stand below their file
    if rows:
        print_table(("FILE", "EXTENT", "COUNT", "SIZE", "PATTERN", "OSTS"), rows)


def _cells(component: "WireComponent") -> tuple[str, str, str, str, str]:
    from iez_client.cli.describe import format_count, format_default_size, format_extent
    from iez_common.units import format_size

    start, end = component.extent_start_bytes, component.extent_end_bytes
    osts = " ".join(map(str, component.osts)) or "not chosen yet"
    if component.pattern_name == "mdt":
        osts = "MDT"
    if component.pool:
        osts += f" (pool {component.pool})"
    return (
        f"{format_size(start)}-{format_extent(end)}",
        format_count(component.stripe_count),
        format_default_size(component.stripe_size_bytes),
        component.pattern_name,
        osts,
    )


def _json(each: FileLayout) -> dict[str, object]:
    return {
        "path": each.path,
        "source": each.source or None,
        "error": each.error or None,
        "composite": each.layout.composite if each.layout else None,
        "components": [_component_json(part, each.source) for part in each.layout.components]
        if each.layout
        else None,
    }


def _component_json(component: "WireComponent", source: str) -> dict[str, object]:
    from iez_common.layout import EOF_BYTES

    end = component.extent_end_bytes
    return {
        "extent_start": component.extent_start_bytes,
        "extent_end": None if end == EOF_BYTES else end,
        "stripe_count": component.stripe_count,
        "stripe_size": component.stripe_size_bytes,
        "pattern": component.pattern_name,
        "pool": component.pool or None,
        # The mock keeps the request, which has another field there.
        "generation": None if source == "mock" else component.generation,
        "instantiated": component.instantiated,
        "osts": list(component.osts),
    }
