"""The words of `iez explain`: codes and numbers of iez_common/allocate/explain.py as sentences."""

from iez_client.cli.allocate_report import extent, where
from iez_common.allocate import Policy
from iez_common.allocate import explain as why
from iez_common.allocate import explain_file as file_why
from iez_common.allocate.explain import OstOutcome, OstReason
from iez_common.allocate.explain_file import FileReason
from iez_common.units import format_about, format_size


def outcome_words(found: OstOutcome, strategy: str) -> str:
    """Why an OST got something, or nothing."""
    words = {
        why.NOT_IN_POOL: "in no pool that a file asks for",
        why.NO_SPACE: f"{_about(found.free_bytes)} free, and the smallest stripe is "
        f"{_about(found.needed_bytes)}",
        why.LESS_ROOM: f"others had more room for each file; {_about(found.room_bytes)} bring it "
        "to the bound",
        why.NOT_PINNED: "no file is put on an OST: Lustre chooses",
        why.MOST_ROOM: f"had most room; {_about(found.room_bytes)} bring it to the bound",
    }
    return words.get(found.why) or _common(found.why, found.states, strategy)


def reason_words(found: OstReason, reason: FileReason, strategy: str) -> str:
    """Why a file was put on an OST, or was not."""
    room, last = (_about(each or 0) for each in (found.room_bytes, found.last_room_bytes))
    level = "up to equal utilisation" if found.is_by_space else "under the bound"
    words = {
        why.NOT_IN_POOL: f"not in pool {reason.placement.pool}",
        why.NO_SPACE: f"{_about(found.free_bytes or 0)} free then, and a stripe is "
        f"{_about(found.needed_bytes)}",
        why.ABOVE_Z: f"had {room} left up to the best z, and a stripe is "
        f"{_about(found.needed_bytes)}",
        why.LESS_ROOM: f"had room for {room} {level}; the last one chosen had {last}",
        why.IN_TURN: f"had as much room ({room}) as the last one chosen, which comes first in turn",
        why.NOT_PINNED: "Lustre chooses",
        why.MOST_ROOM: f"had most room {level}: {room}",
        why.BEYOND: "for what comes beyond the predicted bytes",
        why.EVENED_OUT: _evened_out(found, reason),
    }
    return words.get(found.why) or _common(found.why, found.states, strategy)


def _evened_out(found: OstReason, reason: FileReason) -> str:
    if reason.parts_why == file_why.BALANCE:
        return "the file was split to even out" + ("" if found.is_chosen else ", without this OST")
    return "taken afterwards to even out" if found.is_chosen else "left afterwards to even out"


def _common(code: str, states: tuple[str, ...], strategy: str) -> str:
    named = ", ".join(states)
    return {
        why.CLOSED_BY_STATE: f"{named}: it takes no new files",
        why.EXCLUDED: "excluded by the policy (exclude_osts)",
        why.NO_SIZE: "its size is not known",
        why.AVOIDED_BY_STATE: f"{named}, and the others suffice",
        why.STRATEGY: f"by the rule of {strategy}",
    }[code]


def layout_words(reason: FileReason) -> str:
    """What a file gets."""
    placement = reason.placement
    if placement.rung == "nothing":
        return "left to Lustre"
    if placement.parts:
        starts = (0, *(part.end_bytes for part in placement.parts))
        return "; ".join(
            f"{extent(start, part)}: {' '.join(map(str, part.osts))}"
            for start, part in zip(starts, placement.parts, strict=False)
        )
    size = format_size(placement.stripe_size_bytes)
    return f"{placement.stripe_count} × {size} on {where(placement)}"


def rung_words(reason: FileReason, policy: Policy) -> str:
    """Why iez goes that far with a file, and no further."""
    return {
        file_why.SMALL: f"smaller than pin_min, {format_size(policy.pin_min_bytes)}: not worth it",
        file_why.LADDER: f'the policy allows no more (ladder = "{policy.ladder}")',
        file_why.NO_POOL: 'the policy allows pools (ladder = "pool"), and the file has none',
        file_why.UNKNOWN_POOL: "the policy does not tell which OSTs are in its pool",
        file_why.ALLOWED: f"at least pin_min, {format_size(policy.pin_min_bytes)}: given its OSTs",
    }[reason.rung_why]


def count_words(reason: FileReason, policy: Policy, strategy: str) -> str:
    single, shared = "a file with one writer", "a file with several writers"
    return {
        file_why.GIVEN: "as asked for",
        file_why.SHARE: f"{reason.sharing_files} files with one writer share "
        f"{reason.usable_osts} OSTs",
        file_why.SINGLE_CAP: f"the most for {single} (stripe_count_max_single)",
        file_why.SINGLE_SIZE: f"one for each {format_size(policy.single_stripe_bytes)} of {single} "
        "(single_stripe)",
        file_why.WRITERS: f"one for each of its {reason.writers} writers",
        file_why.SHARED_SIZE: f"one for each {format_size(policy.shared_stripe_bytes)} of {shared} "
        "(shared_stripe)",
        file_why.CAP: "the most that the policy allows (stripe_count_max)",
        file_why.ALL_OSTS: f"all {reason.usable_osts} OSTs that can be used",
        file_why.SPACE: "fewer stripes would not fit into the free space of the OSTs",
        file_why.BY_STRATEGY: f"by the rule of {strategy}",
    }[reason.count_why]


def size_words(reason: FileReason) -> str:
    if reason.size_why == file_why.ACCESS:
        return f"suits writes of {format_size(reason.access_bytes)}"
    return "the policy's, as the size of its writes is not known"


def parts_words(reason: FileReason) -> str:
    if reason.parts_why == file_why.BALANCE:
        return "split, as whole stripes cannot be even"
    return f"a second part, as it may grow to {_about(reason.high_bytes)}"


def _about(size_bytes: int) -> str:
    return format_about(max(0, size_bytes))
