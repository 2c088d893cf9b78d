"""Run: what `iez-run --help` and `iez-run --version` print."""

import os

from iez_client import __version__

HELP = """\
Usage: iez-run [options] [--] COMMAND [ARGUMENT]...
Run COMMAND, observe what it writes on Lustre, and give each file it creates there
its planned layout. What was observed becomes the plan of the next run.

  --app NAME         the application that this is; default: by program and arguments
  --learn WHEN       from what was observed: now (default: before iez-run ends), later
                     (in the background) or off
  --plan FILE        use this plan; followed when the file is replaced
  --mock DIR         treat DIR as Lustre; layouts go to the attribute user.iez.lov
  --mock-state FILE  the mock's storage targets (TOML)
  --trace-dir DIR    leave the traces in DIR (default: a new directory for `iez show`)
  --events           record each write, not only counts
  --plain            run COMMAND untouched (also: IEZ_DISABLE=1)
  --keep             keep the run directory and say where it is
  -q, --quiet        no summary line at the end
  -h, --help         show this help
  --version          show the version

Options end at the first word that is not one. The exit code is COMMAND's, or 125 for a wrong
option, 126 when COMMAND cannot be executed, 127 when it is not found.

Example:
  iez-run mpirun -n 8 ./app input.nml
"""


def show(word: str) -> int:
    text = f"iez-run {__version__}\n" if word == "--version" else HELP
    try:
        os.write(1, text.encode())
    except OSError:
        return 1  # a full disk, a closed descriptor
    return 0
