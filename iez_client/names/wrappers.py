"""Wrappers: the words of a command in, those without a program that only starts another (`env`,
`time`, `numactl`, `docker run`, `sh -c`, …) out."""

import re
from dataclasses import dataclass

from iez_client.names.interpreters import base_name
from iez_client.names.shell import SHELLS, command_of, shell_text, split


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How its own words end."""

    one: frozenset[str] = frozenset()  # options that take the next word
    words: int = 0  # further words before the program
    assignments: bool = False  # NAME=VALUE words before the program


def _wrapper(one: str = "", words: int = 0, assignments: bool = False) -> _Wrapper:
    return _Wrapper(frozenset(one.split()), words, assignments)


_CONTAINER = """-B --bind -H --home --pwd --cwd --env --env-file -S --scratch -W --workdir --overlay
    -o --network --security --add-caps --drop-caps --hostname --fusemount --mount --apply-cgroups"""
_DOCKER = """-v --volume -e --env --env-file -w --workdir -u --user --name -p --publish --mount
    --network --net --gpus -m --memory --memory-swap -c --cpu-shares --cpus --cpuset-cpus
    --cpuset-mems --shm-size --entrypoint -h --hostname --device --ulimit --security-opt --cap-add
    --cap-drop -l --label --label-file --pull --platform --restart --tmpfs --ipc --pid --pids-limit
    --userns --uts --add-host --dns --log-driver --log-opt -a --attach --cidfile --runtime
    --volumes-from --group-add --stop-signal --stop-timeout --annotation --arch --pod --authfile
    --cgroups --cgroupns --sysctl --uidmap --gidmap"""
_CONDA = "-n --name -p --prefix --cwd"
_PERF = """-e --event --filter -p --pid -t --tid -C --cpu -r --repeat --realtime -x
    --field-separator -o --output -I --interval-print --interval-count --timeout -G --cgroup
    -D --delay -F --freq -c --count -m --mmap-pages --call-graph -u --uid -j --branch-filter
    -k --clockid"""
_TORCHRUN = """--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf
    --max-restarts --monitor-interval --start-method --role --log-dir --redirects --tee
    --local-ranks-filter --node-rank --master-addr --master-port --local-addr --logs-specs"""
_WRAPPERS = {
    "env": _wrapper("-u --unset -C --chdir", assignments=True),
    "time": _wrapper("-f --format -o --output"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c --class -n --classdata"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "exec": _wrapper("-a"),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "timeout": _wrapper("-k --kill-after -s --signal", words=1),
    "numactl": _wrapper(
        """-i --interleave -p --preferred -P --preferred-many -m --membind -N --cpunodebind
        -C --physcpubind -w --weighted-interleave"""
    ),
    "taskset": _wrapper(words=1),
    "chrt": _wrapper("-T --sched-runtime -P --sched-period -D --sched-deadline", words=1),
    "catchsegv": _wrapper(),
    "gdb": _wrapper("-ex -x --command -iex --eval-command"),
    "valgrind": _wrapper(),
    "strace": _wrapper("-a -b -e -E -I -o -O -p -P -s -S -u -U -X"),
    "ltrace": _wrapper("-a -A -D -e -F -l -n -o -p -s -u -w -x"),
    "prlimit": _wrapper("-p --pid -o --output"),
    "unbuffer": _wrapper(),
    "xvfb-run": _wrapper(
        """-e --error-file -f --auth-file -n --server-num -p --xauth-protocol -s --server-args
        -w --wait"""
    ),
    "sudo": _wrapper(
        """-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type
        -T --command-timeout -U --other-user -D --chdir -R --chroot""",
        assignments=True,
    ),
    "torchrun": _wrapper(f"{_TORCHRUN} {_TORCHRUN.replace('-', '_').replace('__', '--')} -r -t"),
    "shifter": _wrapper("-i --image -V --volume -e --env -m --module -w --workdir --entrypoint"),
}
# Those that start a program by commands of their own.
_BY_COMMAND = {
    **dict.fromkeys(("singularity", "apptainer"), (("exec", "run"), _wrapper(_CONTAINER, words=1))),
    **dict.fromkeys(("docker", "podman"), (("run",), _wrapper(_DOCKER, words=1))),
    **dict.fromkeys(("conda", "mamba", "micromamba"), (("run",), _wrapper(_CONDA))),
    "perf": (("stat", "record"), _wrapper(_PERF)),
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def unwrapped(words: list[str]) -> list[str]:
    """The words without the first wrapper; empty if there is none, or nothing behind it."""
    if not words:
        return []
    name = base_name(words[0])
    if _ASSIGNMENT.match(words[0]) and "/" not in words[0].partition("=")[0]:
        return words[1:]  # of a shell's text
    if name in SHELLS:
        command = command_of(shell_text(words))
        return list(command.words) if command else []
    if name == "env" and "-S" in words[1:2]:
        return [*split(words[2]), *words[3:]] if len(words) > 2 else []
    commands, wrapper = _BY_COMMAND.get(name, ((), _wrapper()))
    if words[1:2] and words[1] in commands:
        return words[2 + _skipped(words[2:], wrapper) :]
    known = _WRAPPERS.get(name)
    return words[1 + _skipped(words[1:], known) :] if known else []


def moved_to(words: list[str]) -> str:
    """The directory into which a shell's text changes before its command; empty: none."""
    if not words or base_name(words[0]) not in SHELLS:
        return ""
    command = command_of(shell_text(words))
    return command.directory if command else ""


def _skipped(words: list[str], wrapper: _Wrapper) -> int:
    """How many words are the wrapper's own, itself not counted."""
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word = words[at]
        at += 2 if word in wrapper.one else 1
        if word in ("--", "--args"):
            break
    if wrapper.assignments:
        while at < len(words) and _ASSIGNMENT.match(words[at]):
            at += 1
    return min(at + wrapper.words, len(words))
