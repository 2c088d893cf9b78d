"""Facts: what the record of a written file says about the next one like it."""

from collections.abc import Mapping

from iez_client.request.row import WRITERS_MAX, is_number


def final_bytes(size_bytes: int, write_end: int, write_bytes: int) -> int:
    """Its size. A file that was cut at the end, or is gone, held at least what was written."""
    return next((size for size in (size_bytes, write_end, write_bytes) if size), 0)


def count_ranks(ranks: str) -> int:
    """Of `0-63,70`. Raises ValueError where it is no such text."""
    count = 0
    for span in ranks.split(","):
        first, _, last = span.strip().partition("-")
        if not first:
            continue
        if not is_number(first) or not is_number(last or first):
            raise ValueError(ranks)
        count += max(0, int(last or first) - int(first)) + 1
    if count > WRITERS_MAX:
        raise ValueError(ranks)
    return count


def access_bytes(write_sizes: Mapping[int, int], writes: int, write_bytes: int) -> int:
    """The size of most of its bytes' writes. The trace knows powers of two; where all writes are of
    one of them and share the bytes evenly, it is told exactly."""
    if not write_sizes:
        return 0
    each, rest = divmod(write_bytes, max(1, writes))
    low = max(write_sizes, key=lambda size: (size * write_sizes[size], size))
    return each if len(write_sizes) == 1 and not rest and low <= each < 2 * max(1, low) else low
