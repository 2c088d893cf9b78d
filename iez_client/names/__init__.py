"""Names: which application a command is, and the templates behind the names of its files.

Pure: no clock, no files, no environment. docs/names.md tells the rules.
"""

from iez_client.names.expand import (
    Chooser,
    Coming,
    Expected,
    chooser,
    expand,
    rule_text,
    step_shifts,
)
from iez_client.names.fields import RunFacts, Seen
from iez_client.names.identity import Identity, identify
from iez_client.names.launchers import rank_count
from iez_client.names.learn import Learned, Match, field_values, learn_names, show
from iez_client.names.roots import Roots, roots_of

__all__ = [
    "Chooser",
    "Coming",
    "Expected",
    "Identity",
    "Learned",
    "Match",
    "Roots",
    "RunFacts",
    "Seen",
    "chooser",
    "expand",
    "field_values",
    "identify",
    "learn_names",
    "rank_count",
    "roots_of",
    "rule_text",
    "show",
    "step_shifts",
]
