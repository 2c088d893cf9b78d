"""Reports: a table with a line for each case, what they show, and JSON."""

import json
from collections.abc import Sequence
from textwrap import fill

from measure import Result, rate

MIB = 1 << 20
WIDTH = 100
NOISE = 0.05  # ratios nearer to 1 say nothing
GAIN = 1.3
LIMIT = 0.9
_HEAD = ("CASE", "OSTCOST", "WRITE MB/s", "RATIO", "READ MB/s", "RATIO", "OF LIMIT", "SPREAD")


def print_table(results: Sequence[Result]) -> None:
    """Lustre's own placement, then that of iez. OSTCost has its lower bound behind it."""
    rows = [_HEAD, *map(_row, results)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.case.name,
        f"{result.cost(result.lustre):.2f} → {result.cost(result.iez):.2f} (≥ {result.bound:.2f})",
        _pair(result, "write"),
        f"{result.write_ratio:.2f}",
        _pair(result, "read"),
        f"{result.read_ratio:.2f}",
        f"{result.limit_fraction:.0%}",
        f"{result.spread:.0%}",
    )


def _pair(result: Result, what: str) -> str:
    return f"{rate(result.lustre, what) / MIB:.1f} → {rate(result.iez, what) / MIB:.1f}"


def sentences(results: Sequence[Result]) -> list[tuple[bool, str]]:
    """What was expected of each case and of all, and whether it came."""
    found = [_sentence(result) for result in results]
    if results:
        best = max(results, key=lambda result: result.limit_fraction)
        text = (
            f"A placed run ({best.case.name}) writes at {best.limit_fraction:.1%} of what its OSTs "
            "can take together."
        )
        found.append((best.limit_fraction >= LIMIT, text))
    return found


def _sentence(result: Result) -> tuple[bool, str]:
    write, read, title = result.write_ratio, result.read_ratio, result.case.title
    least = min(write, read)
    rates = f"writes {write:.2f} and reads {read:.2f} times as fast"
    if result.case.should_gain:
        return least >= GAIN, f"{title}: {rates}."
    if least < 1 - max(NOISE, result.spread):
        return False, f"{title}: slower than with Lustre's own placement: {rates}."
    if max(write, read) <= 1 + max(NOISE, result.spread):
        return True, f"{title}: no gain: {rates}."
    return True, f"{title}: {rates}."


def print_sentences(results: Sequence[Result]) -> None:
    for holds, text in sentences(results):
        line = text if holds else f"NOT SHOWN: {text}"
        print(fill(line, WIDTH, initial_indent="* ", subsequent_indent="  "))


def print_json(results: Sequence[Result]) -> None:
    values = {
        "schema": 1,
        "results": [_json(result) for result in results],
        "verdict": [{"holds": holds, "text": text} for holds, text in sentences(results)],
    }
    print(json.dumps(values, indent=2))


def _json(result: Result) -> dict[str, object]:
    return {
        "case": result.case.name,
        "title": result.case.title,
        "figure": result.case.figure or None,
        "write_ratio": result.write_ratio,
        "read_ratio": result.read_ratio,
        "limit_fraction": result.limit_fraction,
        "spread": result.spread,
        "ostcost_bound": result.bound,
        **{
            name: {
                "ostcost": result.cost(samples),
                "write_bytes_per_s": [sample.write_bytes_per_s for sample in samples],
                "read_bytes_per_s": [sample.read_bytes_per_s for sample in samples],
                "load_bytes": [list(sample.load_bytes) for sample in samples],
            }
            for name, samples in (("lustre", result.lustre), ("iez", result.iez))
        },
    }
