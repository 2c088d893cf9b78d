"""The command `iez`: finds the subcommand, runs it, and turns errors into words and exit codes."""

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from iez_client import __version__
from iez_client.cli.commands import Parser
from iez_common.errors import IezError, OutputError, UsageError, reason


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand; its module is imported only when it is asked for."""

    name: str
    module: str
    help: str

    def parser(self) -> Parser:
        parser: Parser = import_module(f"iez_client.cli.{self.module}").parser(self.name)
        return parser


COMMANDS = (
    Command("apps", "apps", "list the applications that iez has learned from"),
    Command("runs", "runs", "list their runs, and what came of the plans"),
    Command("table", "table", "print what the next run will write, and where it will go"),
    Command("templates", "templates", "print the templates of an application's file names"),
    Command("predict", "predict", "say what an application will write next, and why"),
    Command("forget", "forget", "remove all that is known of an application"),
    Command("learn", "learn", "learn from runs that nobody has learned from yet"),
    Command("plan make", "plan_make", "make the plan of an application's next run again"),
    Command("plan build", "plan", "make a plan file from a CSV or JSON file"),
    Command("plan show", "plan_show", "say what a plan file holds"),
    Command("layout", "layout", "print the layouts of files"),
    Command("osts", "osts", "list the OSTs with their servers, space and states"),
    Command("allocate", "allocate", "choose stripe counts, sizes and OSTs for files to be written"),
    Command("explain", "explain", "say why an OST was or was not chosen, and a file laid out so"),
    Command("parse", "parse", "make a table of what a job did from its trace files"),
    Command("show", "show", "say what a job did with its files"),
    Command("sim place", "sim_place", "compare ways to place files, without a file system"),
    Command("db info", "db_info", "say where the database is and what it holds"),
    Command("db upgrade", "db_upgrade", "make its tables, or bring them to the newest version"),
    Command("db export", "db_export", "write all that it holds as JSON lines"),
    Command("db import", "db_import", "add what another database has exported"),
    Command("db prune", "db_prune", "delete old runs from it"),
    Command("loopback up", "loopback_up", "mount a file system that stripes as Lustre does"),
    Command("loopback status", "loopback_status", "list such file systems and their OSTs"),
    Command("loopback set", "loopback_set", "make their OSTs slow, full, read-only, dead …"),
    Command("loopback down", "loopback_down", "unmount one, and remove it with its files"),
    Command("loopback clean", "loopback_clean", "remove what daemons that died have left"),
    Command("config show", "config", "print the settings and where they come from"),
)
EXAMPLE = """\
example:
  iez-run mpirun -n 8 ./app
  iez table app"""


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Names are bytes: those that are no text come out as they went in.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    try:
        code = _run(words)
        sys.stdout.flush()
    except IezError as error:
        print(f"iez: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  try: {error.hint}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        # Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141  # the reader (head, less) has seen enough
        print(f"iez: {reason(error)}", file=sys.stderr)
        return OutputError.exit_code
    except KeyboardInterrupt:
        return 130
    return code


def _run(words: list[str]) -> int:
    for command in COMMANDS:
        own = command.name.split()
        if words[: len(own)] == own:
            chosen = command.parser().parse_args(words[len(own) :])
            return int(chosen.run(chosen))
    first = words[0] if words else "--help"
    if first == "--version":
        print(f"iez {__version__}")
        return 0
    group = next((name for name in _groups() if name == first), "")
    if first in ("--help", "-h") or (group and words[1:] in ([], ["--help"], ["-h"])):
        print(help_text(group))
        return 0
    wrong = " ".join(words[: 2 if group else 1])
    raise UsageError(f"there is no command {wrong!r}", f"iez {group} --help".replace("  ", " "))


def _groups() -> list[str]:
    """First words of commands that have two."""
    return [command.name.split()[0] for command in COMMANDS if " " in command.name]


def help_text(group: str = "") -> str:
    """What `iez --help` prints, or `iez GROUP --help`."""
    shown = [command for command in COMMANDS if command.name.startswith(group)]
    width = max(len(command.name) for command in shown)
    listing = "\n".join(f"  {command.name:{width}}  {command.help}" for command in shown)
    usage = f"usage: iez {group}".rstrip() + (" COMMAND …" if group else " [--version] COMMAND …")
    about = "Lays the new files of a job out on the Lustre storage targets that a plan names."
    more = "`iez COMMAND --help` says more about each."
    return f"{usage}\n\n{about}\n\ncommands:\n{listing}\n\n{more}\n\n{EXAMPLE}"


if __name__ == "__main__":
    sys.exit(main())
