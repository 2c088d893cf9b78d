"""Readers: a process that asks many OSTs by a few child processes, and ends at the deadline.

A read of a sick OST cannot be interrupted, not even by a kill, so each is made by a child that can
be left behind. This process makes none itself; it reads its tasks from standard input and writes
lines to standard output: the number of a task, and what is known about it so far.
"""

import contextlib
import fcntl
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence

from iez_client.observe import facts, reading
from iez_client.observe.facts import Task

READERS = 16  # at work at the same time
STUCK_S = 0.2  # a reader that takes longer for one OST is no longer counted among them
READERS_MAX = 128  # with those that are stuck: as many processes can stay behind
_MESSAGE_BYTES_MAX = 4096
_BEGUN = facts.dump_facts(facts.Facts()).encode()  # nothing is known yet, but it was asked


class Reader:
    """A child process, and the socket to talk to it."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.task: int | None = None
        self.since_s = 0.0

    def is_at_work(self, now_s: float) -> bool:
        return self.task is not None and now_s - self.since_s < STUCK_S


class Pool:
    """The children, and the tasks that wait for one."""

    def __init__(self, tasks: Sequence[Task], output: int) -> None:
        self.tasks = tasks
        self.output = output
        self.waiting = deque(range(len(tasks)))
        self.readers: list[Reader] = []

    def run(self, until_s: float) -> None:
        while (now_s := time.monotonic()) < until_s:
            self._hand_out(now_s)
            busy = [reader for reader in self.readers if reader.task is not None]
            if not busy:
                return  # all is asked, or no process can be started
            # While tasks wait, a reader that has got stuck must be noticed.
            pause_s = min(STUCK_S, until_s - now_s) if self.waiting else until_s - now_s
            ready, _, _ = select.select([reader.channel for reader in busy], [], [], pause_s)
            for reader in busy:
                if reader.channel in ready:
                    self._receive(reader)

    def _hand_out(self, now_s: float) -> None:
        while self.waiting:
            reader = self._free_reader(now_s)
            if reader is None:
                return
            number = self.waiting.popleft()
            try:
                reader.channel.send(b"%d" % number)
            except OSError:
                self._remove(reader)  # it was ended from outside, and so the task is not asked
                continue
            reader.task, reader.since_s = number, now_s
            self._tell(b"%d %s" % (number, _BEGUN))

    def _free_reader(self, now_s: float) -> Reader | None:
        for reader in self.readers:
            if reader.task is None:
                return reader
        at_work = sum(reader.is_at_work(now_s) for reader in self.readers)
        if at_work >= READERS or len(self.readers) >= READERS_MAX:
            return None
        return self._start()

    def _start(self) -> Reader | None:
        # The user may have too many files or processes: those readers that are there go on.
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            return None
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            return None
        if pid == 0:
            try:
                ours.close()
                self._let_go()
                serve(theirs, self.tasks)
            finally:
                os._exit(0)
        theirs.close()
        reader = Reader(pid, ours)
        self.readers.append(reader)
        return reader

    def _let_go(self) -> None:
        """A child that is left behind must hold nothing that anybody waits for: no pipe, no socket
        of another reader, no current directory on a file system that is to be unmounted."""
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)
        for reader in self.readers:
            reader.channel.close()
        if self.output > 2:
            os.close(self.output)

    def _receive(self, reader: Reader) -> None:
        try:
            message = reader.channel.recv(_MESSAGE_BYTES_MAX)
        except OSError:
            message = b""
        if not message:
            self._remove(reader)
            return
        number, _, text = message.partition(b" ")
        self._tell(message)
        if int(number) == reader.task and facts.load_facts(text.decode()).answered:
            reader.task = None

    def _tell(self, message: bytes) -> None:
        text = message + b"\n"
        while text:
            text = text[os.write(self.output, text) :]

    def _remove(self, reader: Reader) -> None:
        self.readers.remove(reader)
        reader.channel.close()
        with contextlib.suppress(OSError):
            os.waitpid(reader.pid, os.WNOHANG)


def serve(channel: socket.socket, tasks: Sequence[Task]) -> None:
    """A child: asks what it is told to ask, until nobody tells it any more."""
    while word := channel.recv(_MESSAGE_BYTES_MAX):
        for known in reading.ask(tasks[int(word)]):
            channel.send(b"%s %s" % (word, facts.dump_facts(known).encode()))


def main() -> None:
    tasks, until_s = facts.load_tasks(sys.stdin.buffer.read())
    # A number above those that the children replace.
    output = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(2, 1)
    Pool(tasks, output).run(until_s)
    # Nothing is waited for: a child that hangs may take half a minute more. It ends by itself
    # when it finds that its socket is closed.
    os._exit(0)


if __name__ == "__main__":
    main()
