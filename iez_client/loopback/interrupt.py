"""Interrupt: Ctrl-C takes effect only where all that was made so far can be undone."""

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Within this block an interrupt waits for check(), or for the block's end. Processes that are
    started meanwhile do not see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check() -> None:
    """Raises KeyboardInterrupt if one is waiting."""
    if signal.SIGINT in signal.sigpending():
        signal.sigwait({signal.SIGINT})
        raise KeyboardInterrupt
