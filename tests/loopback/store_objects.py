"""Objects: what lies below a store, and what should lie there by the arithmetic of striping.

Stripe `n` of a component, counted from the start of the file, is on its object n modulo the stripe
count, behind the earlier stripes that are there; objects of later components begin with a hole.
"""

from pathlib import Path

from loopback_fixtures import Mounted
from lustre_calls import MDT, layout_of

from iez_common.layout import WireLayout

UNIT = 64 << 10  # all stripe sizes and extents are multiples of it

Objects = dict[tuple[int, int], bytes]  # by component and stripe


def objects_on(mounted: Mounted, path: Path, target: str) -> dict[tuple[int, int], Path]:
    """The objects of a file on `target`: "mdt", or the index of an OST in four hex digits."""
    below = mounted.store / ("mdt" if target == "mdt" else f"ost/{target}") / "objects"
    found = {}
    for each in below.glob(f"{path.stat().st_ino:x}.*"):
        _, component, stripe = each.name.split(".")
        found[int(component, 16), int(stripe, 16)] = each
    return found


def places_of(mounted: Mounted, path: Path) -> dict[tuple[int, int], str]:
    """On which target each object of a file is: "mdt", or the index of an OST."""
    targets = ["mdt", *sorted(each.name for each in (mounted.store / "ost").iterdir())]
    return {
        key: target if target == "mdt" else str(int(target, 16))
        for target in targets
        for key in objects_on(mounted, path, target)
    }


def objects_of(mounted: Mounted, path: Path) -> Objects:
    """The bytes of the objects, which must be where the layout says and nowhere else."""
    found: Objects = {}
    for number, component in enumerate(layout_of(path).components):
        targets = ["mdt"] if component.pattern == MDT else [f"{ost:04x}" for ost in component.osts]
        for stripe, target in enumerate(targets if component.instantiated else []):
            found[number, stripe] = objects_on(mounted, path, target)[number, stripe].read_bytes()
    assert sorted(found) == sorted(places_of(mounted, path)), (
        "there are objects that the layout does not know"
    )
    return found


def expected_objects(layout: WireLayout, data: bytes) -> Objects:
    """The same, of a file without holes that holds `data`."""
    made = {
        (number, stripe): bytearray()
        for number, component in enumerate(layout.components)
        for stripe in range(_stripes(layout, number))
        if component.instantiated
    }
    for at in range(0, len(data), UNIT):
        number = next(i for i, each in enumerate(layout.components) if at < each.extent_end_bytes)
        size, count = layout.components[number].stripe_size_bytes, _stripes(layout, number)
        in_object = at // size // count * size + at % size
        target = made[number, at // size % count]
        target.extend(bytes(in_object - len(target)))
        target += data[at : at + UNIT]
    return {key: bytes(each) for key, each in made.items()}


def _stripes(layout: WireLayout, number: int) -> int:
    component = layout.components[number]
    return 1 if component.pattern == MDT else component.stripe_count
