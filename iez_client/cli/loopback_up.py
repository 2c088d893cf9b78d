"""`iez loopback up`: mounts a file system that stripes as Lustre does."""

import argparse
import re
import sys
from pathlib import Path

from iez_client.cli.commands import Parser, count_of, shown, size_option
from iez_common.errors import UsageError
from iez_common.units import format_size, parse_indices

OST_BYTES_MIN = 1 << 20
AMOUNT_MAX = 1 << 60
POOLS_MAX = 32
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def parser(command: str) -> Parser:
    up = Parser(
        command,
        "Mounts a file system at DIR that stripes files over OSTs as Lustre does, each with a\n"
        "size and a speed of its own, on this machine alone. iez finds it as it finds Lustre.\n"
        "As root the OSTs are images of file systems, for others directories with a quota. A\n"
        "file system that was kept, or whose daemon died, comes up again with its files.",
        "  iez loopback up /tmp/lustre\n"
        "  iez loopback up --oss 2 --osts 4 --size 1G --bandwidth 10M --pool flash=0-3 /tmp/lustre",
    )
    up.add_argument("dir", metavar="DIR", type=Path, help="where; made if it is not there")
    up.add_argument("--oss", type=_count, default=3, metavar="N", help="servers; default 3")
    up.add_argument("--osts", type=_count, default=5, metavar="N", help="of each; default 5")
    up.add_argument(
        "--size", type=amount_option, default=10 << 30, metavar="SIZE",
        help="of an OST; default 10G",
    )  # fmt: skip
    up.add_argument(
        "--bandwidth", type=amount_option, default=20 << 20, metavar="SIZE",
        help="of an OST in a second; 0: no limit; default 20M",
    )  # fmt: skip
    up.add_argument(
        "--oss-bandwidth", type=amount_option, default=0, metavar="SIZE",
        help="of all OSTs of a server together; default 0",
    )  # fmt: skip
    up.add_argument(
        "--window", type=amount_option, default=8 << 20, metavar="SIZE",
        help="what may wait for an OST before writers do; default 8M",
    )  # fmt: skip
    up.add_argument("--stripe-count", type=int, default=1, metavar="N", help="default of files")
    up.add_argument(
        "--stripe-size",
        type=amount_option,
        default=4 << 20,
        metavar="SIZE",
        help="default of files; 4M",
    )
    up.add_argument(
        "--pool", type=_pool, action="append", default=[], metavar="NAME=OSTS",
        help="a pool of OSTs, such as flash=0-3",
    )  # fmt: skip
    up.add_argument("--seed", type=_count, default=0, metavar="N", help="of Lustre's own choices")
    up.add_argument(
        "--jobid", default="procname_uid", metavar="VARIABLE",
        help="environment variable that tells jobs apart in job_stats",
    )  # fmt: skip
    up.add_argument("--mmap", action="store_true", help="cached, so that files can be mapped")
    up.add_argument("--name", default="", help="of the file system; default loop0, loop1, …")
    up.add_argument("--store", type=Path, metavar="DIR", help="where the data is kept")
    kind = up.add_mutually_exclusive_group()
    kind.add_argument("--images", action="store_true", help="OSTs are images (root)")
    kind.add_argument("--directories", action="store_true", help="OSTs are directories")
    up.set_defaults(run=run_up)
    return up


def run_up(options: argparse.Namespace) -> int:
    from iez_client.loopback.up import Wish, bring_up, ptrace_warning

    _check(options.oss * options.osts, options)
    wish = Wish(
        oss_count=options.oss,
        osts_per_oss=options.osts,
        size_bytes=options.size,
        bandwidth=options.bandwidth,
        oss_bandwidth=options.oss_bandwidth,
        window_bytes=options.window,
        stripe_count=options.stripe_count % 65536,
        stripe_size=options.stripe_size,
        seed=options.seed,
        jobid=options.jobid,
        mmap=options.mmap,
        images=_wants_images(options),
        pools=tuple(options.pool),
        name=options.name,
        store=options.store,
    )
    upped = bring_up(options.dir, wish)
    config = upped.config
    again = "again, with its files" if upped.is_again else "empty"
    rate = config.osts[0].bandwidth
    print(
        f"{config.mount}: {count_of(len(config.osts), 'OST')} of "
        f"{format_size(config.osts[0].size_bytes)} on "
        f"{count_of(len(config.oss_bandwidths), 'OSS')}, "
        f"{format_size(rate) + '/s' if rate else 'no limit'} each, {again} (try: iez osts)"
    )
    if warning := ptrace_warning():
        print(f"iez: {warning}", file=sys.stderr)
    return 0


def _wants_images(options: argparse.Namespace) -> bool:
    import os

    from iez_client.loopback.images import IMAGE_BYTES_MIN, missing_tool

    is_root, missing = os.geteuid() == 0, missing_tool()
    if options.directories or (not is_root and not options.images):
        return False
    if not is_root:
        raise UsageError("only root can mount images", "leave --images out")
    if missing and options.images:
        raise UsageError(f"images need {missing}", "apt-get install e2fsprogs mount")
    if missing:
        print(f"iez: no {missing} here: the OSTs are directories", file=sys.stderr)
        return False
    if options.size < IMAGE_BYTES_MIN:
        raise UsageError("an image is at least 8M large", "--size 8M, or --directories")
    return True


def _check(ost_count: int, options: argparse.Namespace) -> None:
    if ost_count > 2000 or options.oss > 254:
        raise UsageError(f"{ost_count} OSTs on {options.oss} servers are too many", "2000 and 254")
    if options.stripe_size % 65536 or not 0 < options.stripe_size < 1 << 32:
        raise UsageError("--stripe-size is not a multiple of 64K below 4G", "--stripe-size 1M")
    if not -1 <= options.stripe_count <= 2000 or not options.stripe_count:
        raise UsageError("--stripe-count is neither -1 nor from 1 to 2000", "--stripe-count 4")
    if options.size < OST_BYTES_MIN:
        raise UsageError("an OST is at least 1M large", "--size 1G")
    if not _VARIABLE.fullmatch(options.jobid):
        raise UsageError(f"{options.jobid!r} is no variable", "--jobid SLURM_JOB_ID")
    for place in filter(None, (options.dir, options.store)):
        if shown(str(place)) != str(place):
            raise UsageError(f"{str(place)!r} has control characters", "name another directory")
    name = options.name
    if name and (len(name) > 8 or not name.isascii() or not name.isalnum()):
        raise UsageError(f"{name!r} is no name of up to 8 letters and digits", "--name loop1")
    for pool, members in options.pool:
        if members[-1] >= ost_count:
            raise UsageError(
                f"the pool {pool} has an OST {members[-1]} that is not there",
                f"--pool {pool}=0-{ost_count - 1}",
            )
    names = [pool for pool, _ in options.pool]
    if len(names) > POOLS_MAX or len(set(names)) < len(names):
        raise UsageError(f"the pools are not up to {POOLS_MAX} of different names", "--pool a=0")


def amount_option(text: str) -> int:
    """The type of an option that is a size or a speed."""
    amount = size_option(text)
    if amount > AMOUNT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is above 1E")
    return amount


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 32):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _pool(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, members = text.partition("=")
    is_name = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    if not equals or not is_name or len(name) > 15:
        raise argparse.ArgumentTypeError(f"{text!r} is no pool such as flash=0-3")
    try:
        return name, parse_indices(members)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name}: {error}") from error
