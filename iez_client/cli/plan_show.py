"""`iez plan show`: what a plan file holds."""

import argparse
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser, print_json, print_table

if TYPE_CHECKING:
    from iez_client.filesystems import FileSystem
    from iez_client.plan.read import Choice, Plan

_LIMIT = 50


def parser(command: str) -> Parser:
    show = Parser(
        command,
        "Prints what a plan file holds: where it holds, its templates and its paths.",
        "  iez plan show my.plan\n  iez plan show my.plan --find /lustre/run7/ckpt_0042.h5",
    )
    show.add_argument("plan", metavar="PLAN", help="plan file")
    show.add_argument(
        "--json", action="store_true", help="print JSON; its files can be built again"
    )
    show.add_argument("--check", action="store_true", help="check every byte of the file first")
    show.add_argument(
        "--find", metavar="PATH", help="say what PATH would get; exit code 1 if nothing is planned"
    )
    show.add_argument(
        "--limit", metavar="N", type=_count, default=_LIMIT,
        help=f"print at most N paths as text; 0: all; default {_LIMIT}",
    )  # fmt: skip
    show.set_defaults(run=run_show)
    return show


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of paths")
    return int(text)


def run_show(options: argparse.Namespace) -> int:
    from iez_client.plan.read import check_owner, read_plan

    plan = read_plan(Path(options.plan))
    if options.check:
        check_owner(Path(options.plan))
        plan.verify()
    if options.find is not None:
        return _find(plan, options.find, options.json)
    if options.json:
        _print_json(plan)
    else:
        _print_text(plan, options.limit, options.check)
    return 0


def _find(plan: "Plan", path: str, as_json: bool) -> int:
    from iez_client.cli.describe import describe, layout_json
    from iez_client.plan.template import encode

    whole = os.path.abspath(path)  # noqa: PTH100 - as the library looks names up: lexically
    found = plan.find(encode(whole))
    if as_json:
        print_json(
            {
                "path": whole,
                "prefix": found.prefix or None,
                "template": found.template or None,
                "layout": layout_json(found.layout) if found.layout else None,
            }
        )
    elif not found.prefix:
        print(f"{whole}: on no file system of the plan")
    elif found.layout is None:
        print(f"{whole}: nothing planned")
    else:
        by = f"by {found.template}" if found.template else "by its own path"
        print(f"{whole}: {describe(found.layout)}, {by}")
    return 0 if found.layout else 1


def _print_text(plan: "Plan", limit: int, checked: bool) -> None:
    import time

    from iez_client.cli.describe import describe
    from iez_client.plan.template import decode

    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(plan.generation / 1e9))
    sound = ", every byte checked" if checked else ""
    print(f"{plan.name}: made {made}, {plan.header.file_bytes} bytes{sound}")
    file_systems = plan.file_systems()
    if file_systems:
        mounts = [_file_system_row(each) for each in file_systems]
        print_table(("PREFIX", "KIND", "OSTS", "NOTES"), mounts)
    else:
        print("not bound to a file system: iez-run --mock DIR binds it")
    rows = [
        (choice.text, f"{turn + 1}/{len(choice.options)}", describe(plan.layout(reference)))
        for choice in plan.choices()
        for turn, reference in enumerate(choice.options)
    ]
    if rows:
        print()
        print_table(("TEMPLATE", "TURN", "LAYOUT"), rows)
    total = sum(1 for _ in plan.entries())
    entries = sorted(itertools.islice(plan.entries(), limit or None), key=lambda each: each.path)
    if entries:
        print()
        print_table(
            ("PATH", "LAYOUT"),
            [(decode(each.path), describe(plan.layout(each.layout_ref))) for each in entries],
        )
    if total > len(entries):
        print(f"… and {total - len(entries)} more paths (--limit 0 prints all)")


def _file_system_row(file_system: "FileSystem") -> tuple[str, str, str, str]:
    from iez_client.filesystems import KIND_NAMES, STATE_BITS
    from iez_common.units import format_indices

    notes = [f"also {alias}" for alias in file_system.aliases]
    for name, bit in STATE_BITS.items():
        marked = [ost.index for ost in file_system.osts if ost.state & bit]
        if marked:
            notes.append(f"{name}: {format_indices(marked)}")
    if file_system.inject:
        notes.append(f"every request is answered {inject_name(file_system.inject)}")
    indices = format_indices([ost.index for ost in file_system.osts])
    kind = KIND_NAMES.get(file_system.kind, "unknown")
    return file_system.prefix or "/", kind, indices, "; ".join(notes)


def inject_name(inject: int) -> str:
    import errno

    from iez_common._core import lib
    from iez_common.mock import SILENT

    return SILENT if inject == lib.IEZ_INJECT_SILENT else errno.errorcode.get(inject, str(inject))


def _print_json(plan: "Plan") -> None:
    from iez_client.cli.describe import layout_json
    from iez_client.plan.template import decode, escape

    entries = sorted(plan.entries(), key=lambda each: each.path)
    files: list[dict[str, object]] = [
        {"path": escape(decode(each.path))} | layout_json(plan.layout(each.layout_ref))
        for each in entries
    ]
    files += [_choice_json(plan, choice) for choice in plan.choices()]
    print_json(
        {
            "plan": plan.name,
            "generation": plan.generation,
            "bytes": plan.header.file_bytes,
            "refresh_ms": plan.refresh_ms,
            "bound": plan.is_bound,
            "file_systems": [_file_system_json(each) for each in plan.file_systems()],
            "files": files,
        }
    )


def _choice_json(plan: "Plan", choice: "Choice") -> dict[str, object]:
    from iez_client.cli.describe import layout_json
    from iez_client.plan.template import parse

    layouts = [layout_json(plan.layout(reference)) for reference in choice.options]
    if len(layouts) == 1:
        return {"path": choice.text} | layouts[0]
    before = [field for field in parse(choice.text).numbers if field < choice.field]
    choose = {"field": len(before), "first": choice.first_value}
    return {"path": choice.text, "layouts": layouts, "choose": choose}


def _file_system_json(file_system: "FileSystem") -> dict[str, object]:
    from iez_client.filesystems import KIND_NAMES, STATE_BITS

    return {
        "prefix": file_system.prefix or "/",
        "aliases": list(file_system.aliases),
        "kind": KIND_NAMES.get(file_system.kind, "unknown"),
        "inject": inject_name(file_system.inject) if file_system.inject else None,
        "osts": [
            {
                "index": ost.index,
                "state": [name for name, bit in STATE_BITS.items() if ost.state & bit],
            }
            for ost in file_system.osts
        ],
    }
