"""Process: the rarer ends of iez-run: become the job's command, die of the job's signal, fail."""

# iez-run does without pathlib: it would double its start.
# ruff: noqa: PTH118, PTH123

import errno
import os
import resource
import signal
from contextlib import suppress

EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND = 126, 127  # as env(1) and nohup(1)


def become(command: list[str], environ: dict[str, str]) -> int:
    """Runs the command in place of iez-run: nothing is left between it and who started it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these for itself
    try:
        if not command[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        try:
            os.execvpe(command[0], command, environ)
        except OSError as error:
            words = through_shell(command, error)
            os.execve(words[0], words, environ)
    except OSError as error:
        return cannot_run(command[0], error)


def through_shell(command: list[str], error: OSError) -> list[str]:
    """A script without a first line of its own is run by the shell, as execvp(3) does."""
    if error.errno != errno.ENOEXEC:
        raise error
    folders = [""] if "/" in command[0] else os.environ.get("PATH", os.defpath).split(":")
    paths = [os.path.join(folder, command[0]) for folder in folders]
    found = next((path for path in paths if os.access(path, os.X_OK)), command[0])
    return ["/bin/sh", found, *command[1:]]


def cannot_run(name: str, error: OSError) -> int:
    line = f"iez-run: cannot run '{name}': {error.strerror}\n"
    with suppress(OSError):  # closed: there is nobody to tell
        os.write(2, line.encode(errors="surrogateescape"))
    return EXIT_NOT_FOUND if error.errno == errno.ENOENT else EXIT_NOT_EXECUTABLE


def pass_on(job: int, news: signal.struct_siginfo) -> None:
    if not has_reached_job(news.si_signo, news.si_code, news.si_pid):
        with suppress(PermissionError):  # a job that has become another user
            os.kill(job, news.si_signo)


def has_reached_job(number: int, code: int, sender: int) -> bool:
    """Whether the job got this signal by itself. It shares iez-run's process group, so it has what
    the terminal sent, and what the job sent to its own group it must not get twice."""
    from_kernel = code > 0
    if from_kernel:
        # A hang-up is told to the leader of the session alone, an alarm to the process that
        # set it before it became iez-run.
        alone = number == signal.SIGALRM or (
            number == signal.SIGHUP and os.getsid(0) == os.getpid()
        )
        return not alone
    while sender > 1:
        if sender == os.getpid():
            return True
        try:
            with open(f"/proc/{sender}/stat", "rb") as stat:
                sender = int(stat.read().rpartition(b")")[2].split()[1])  # its parent
        except OSError:
            return False
    return False


def die_by(number: int) -> int:
    """Ends iez-run by a signal, so that whoever waits for it sees what the job died of."""
    # The job has dumped its core. 1, as a limit of 0 does not stop a core_pattern that is a pipe.
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number  # process 1 of a container does not die of signals
