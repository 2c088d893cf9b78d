"""The text and the JSON of `iez osts`."""

from collections import Counter
from collections.abc import Sequence

from iez_client.cli.commands import print_json, print_table
from iez_client.filesystems import KIND_NAMES
from iez_client.observe.osts import Observation, ObservedFileSystem
from iez_common.units import format_about

_COLUMNS = ("OST", "OSS", "SIZE", "USED", "AVAILABLE", "USE%", "STATE")
_SILENT = frozenset({"unreachable", "inactive"})  # their space is not there to be used


def print_osts(file_systems: Sequence[ObservedFileSystem]) -> None:
    """One table a file system, however often it is mounted: its OSTs are the same in all places."""
    same: dict[str, list[ObservedFileSystem]] = {}
    for each in file_systems:
        same.setdefault(each.key, []).append(each)
    for number, mounts in enumerate(same.values()):
        if number:
            print()
        first = mounts[0]
        print(f"{', '.join(each.prefix for each in mounts)} ({KIND_NAMES[first.kind]})")
        if first.observations:
            print_table(_COLUMNS, [_row(seen) for seen in first.observations])
        print(_summary(first))


def _row(seen: Observation) -> tuple[str, ...]:
    ost = seen.ost
    states = ", ".join((*sorted(ost.states), *_slow(seen))) or "ok"
    oss = ost.oss or "?"
    if seen.age_s is None:
        return (seen.name, oss, "?", "?", "?", "?", states)
    if ost.states & _SILENT:
        states += f" (space {_age(seen.age_s)} old)"
    return (
        seen.name,
        oss,
        format_about(ost.size_bytes),
        format_about(seen.used_bytes),
        format_about(ost.available_bytes),
        _percent(seen.used_bytes, ost.available_bytes),
        states,
    )


def _slow(seen: Observation) -> tuple[str, ...]:
    return (
        (f"slow ({format_about(int(seen.ost.bandwidth_bytes_per_s))}/s)",) if seen.is_slow else ()
    )


def _percent(used_bytes: int, available_bytes: int) -> str:
    """Of what users can use, as df counts: the rest is reserved."""
    usable_bytes = used_bytes + available_bytes
    return f"{-(-100 * used_bytes // usable_bytes)}%" if usable_bytes else "?"


def _age(age_s: float) -> str:
    for unit_s, letter in ((86400, "d"), (3600, "h"), (60, "min")):
        if age_s >= unit_s:
            return f"{age_s / unit_s:.0f} {letter}"
    return f"{age_s:.0f} s"


def _summary(each: ObservedFileSystem) -> str:
    """One line: what is there and can be used, and how many OSTs are in trouble."""
    usable = [seen for seen in each.observations if not seen.ost.states & _SILENT]
    servers = len({ost.oss for ost in each.osts if ost.oss})
    count = len(each.observations)
    where = f" on {servers} OSS{'' if servers == 1 else 's'}" if servers else ""
    size, available, used = (
        format_about(sum(values))
        for values in (
            [seen.ost.size_bytes for seen in usable],
            [seen.ost.available_bytes for seen in usable],
            [seen.used_bytes for seen in usable],
        )
    )
    states = Counter(state for ost in each.osts for state in ost.states)
    trouble = "".join(f"; {states[state]} {state}" for state in sorted(states))
    osts = f"{count} OST{'' if count == 1 else 's'}{where}"
    return f"{each.name}: {osts}: {size}, {used} used, {available} available{trouble}"


def print_osts_json(file_systems: Sequence[ObservedFileSystem]) -> None:
    print_json({"file_systems": [_file_system_json(each) for each in file_systems]})


def _file_system_json(each: ObservedFileSystem) -> dict[str, object]:
    return {
        "kind": KIND_NAMES[each.kind],
        "prefix": each.prefix,
        "name": each.name,
        "error": each.trouble or None,
        "osts": [_ost_json(seen) for seen in each.observations],
    }


def _ost_json(seen: Observation) -> dict[str, object]:
    is_known = seen.age_s is not None
    return {
        "index": seen.ost.index,
        "name": seen.name,
        "oss": seen.ost.oss or None,
        "size_bytes": seen.ost.size_bytes if is_known else None,
        "available_bytes": seen.ost.available_bytes if is_known else None,
        "used_bytes": seen.used_bytes if is_known else None,
        "states": sorted(seen.ost.states),
        "bytes_per_s": round(seen.bytes_per_s) or None,
        "is_slow": seen.is_slow,
        "age_s": None if seen.age_s is None else round(seen.age_s, 3),
        "source": seen.source or None,
    }
