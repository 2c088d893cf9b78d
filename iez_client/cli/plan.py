"""`iez plan build`: a plan file from what a user wrote down."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.commands import Parser, count_of
from iez_common.errors import UsageError


def parser(command: str) -> Parser:
    build = Parser(
        command,
        "Makes a plan file from a CSV file with the columns path, stripe_count,\n"
        "stripe_size, ost_list and pool, or from a JSON file (docs/plan-file.md).\n"
        "The plan holds for the Lustre file systems of this machine, for a mock, or for\n"
        "the prefix and OSTs that are given; every OST that it names must exist there.",
        "  iez plan build --from layouts.csv -o my.plan\n"
        "  iez plan build --from layouts.csv --mock /tmp/lustre -o my.plan\n"
        "  iez plan build --from layouts.csv --prefix /lustre --osts 0-14,20 -o my.plan",
    )
    build.add_argument(
        "--from", dest="source", metavar="FILE", required=True, help="CSV or JSON file (.json)"
    )
    build.add_argument("-o", dest="output", metavar="PLAN", required=True, help="file to write")
    build.add_argument("--mock", metavar="DIR", help="directory to treat as Lustre")
    build.add_argument("--mock-state", metavar="FILE", help="state of the mock's OSTs")
    build.add_argument(
        "--prefix", metavar="DIR", help="where Lustre is mounted on the target machine"
    )
    build.add_argument("--osts", metavar="SET", help="the OSTs that exist there, such as 0-14,20")
    build.set_defaults(run=run_build)
    return build


def run_build(options: argparse.Namespace) -> int:
    from iez_client import filesystems
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import build_plan, known_file_systems
    from iez_common import config
    from iez_common.units import parse_indices

    settings = config.load({"mock": options.mock, "mock_state": options.mock_state})
    if (options.prefix is None) != (options.osts is None):
        raise UsageError("--prefix and --osts belong together", "iez plan build --help")
    if options.prefix is not None:
        if options.mock is not None:
            raise UsageError("--mock and --prefix exclude each other", "iez plan build --help")
        try:
            indices = parse_indices(options.osts)
        except ValueError as error:
            raise UsageError(f"--osts: {error}", "--osts 0-14,20") from None
        file_systems = [filesystems.from_list(Path(options.prefix), indices)]
    else:
        file_systems = known_file_systems(settings)
    built = build_plan(Path(options.source), file_systems, settings.refresh_ms)
    write_plan(Path(options.output), built.image)
    if not built.is_bound:
        names = ", ".join(each.prefix for each in file_systems)
        where = f"no path lies below {names}" if names else "no Lustre file system is mounted here"
        note = f"{where}: the plan is not bound yet; iez-run --mock DIR binds it"
        print(f"iez: note: {note}", file=sys.stderr)
    elif built.outside_count:
        note = f"{built.outside_count} of its names lie on no known file system, such as"
        print(f"iez: note: {note} {built.outside_example}", file=sys.stderr)
    paths = count_of(built.path_count, "path")
    templates = count_of(built.template_count, "template")
    print(f"{options.output}: {paths}, {templates}, {len(built.image)} bytes")
    return 0
