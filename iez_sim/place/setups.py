"""The set-ups of the study by their names."""

from iez_sim.place.mixed_setups import mixed_setups
from iez_sim.place.paper_setups import paper_setups
from iez_sim.place.setup import SetUp


def all_setups() -> dict[str, SetUp]:
    return {each.name: each for each in (*paper_setups(), *mixed_setups())}
