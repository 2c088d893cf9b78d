"""`iez` on a machine that is made of files: MACHINE, then the words of the command."""

import sys
from pathlib import Path

from iez_client import filesystems
from iez_client.cli.main import main

# As LustreMachine.install (tests/lustre_trees.py) does it within a process.
MACHINE = Path(sys.argv[1])
filesystems.MOUNTS = MACHINE / "mounts"
filesystems.OSC_ROOTS = tuple(MACHINE / tree / "osc" for tree in ("sys", "proc", "debug"))

sys.exit(main(sys.argv[2:]))
