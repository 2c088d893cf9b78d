"""Table: the files of a run, as columns; a record is made only of a row that is asked for."""

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.parse import disk
from iez_client.parse.merge import Merged, merge_traces
from iez_client.parse.mpi_files import helper_rows
from iez_client.parse.names import is_bare, resolve
from iez_client.parse.record import (
    ACCESS,
    APIS,
    OUTCOMES,
    FileRecord,
    format_ranks,
    seconds,
    write_sizes,
)
from iez_client.parse.traces import SIZE_UNKNOWN, find_traces
from iez_client.plan.template import decode
from iez_common._core import lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iez_client.parse.columns import Rows

FPP, SSF, MIXED = "FPP", "SSF", "mixed"


class FileTable:
    """The files of a run. `rows` are columns (struct iez_row), one element a file; they are a view
    of the C core's memory where no file had to be left out."""

    def __init__(self, merged: Merged) -> None:
        import numpy as np

        self.traces = merged.traces
        self.totals = merged.totals
        self.damaged = merged.damaged
        self.merge = merged.merge  # keeps the memory of `rows`
        self.names = resolve(self.merge)
        helpers = helper_rows(self.merge, self.names.final)
        everything = self.merge.rows
        self._numbers = self.names.rows
        unopened = self._numbers[everything["opens"][self._numbers] == 0]
        bare = unopened[is_bare(everything[unopened])]
        if len(bare):
            self._numbers = np.setdiff1d(self._numbers, bare, assume_unique=True)
        whole = len(self._numbers) == len(everything)
        self.rows: Rows = everything if whole else everything[self._numbers]
        self.is_helper: NDArray[np.bool_] = helpers if whole else helpers[self._numbers]

    def __len__(self) -> int:
        return len(self.rows)

    def name(self, index: int) -> bytes:
        number = int(self._numbers[index])
        return self.names.final.get(number) or self.merge.path(number)

    @functools.cached_property
    def write_bytes(self) -> "NDArray[np.uint64]":
        """What was written to each file, counted once: POSIX and stdio."""
        layers = self.rows["layer_bytes"]
        total: NDArray[np.uint64] = layers[:, lib.IEZ_POSIX] + layers[:, lib.IEZ_STDIO]
        return total

    @functools.cached_property
    def is_shared(self) -> "NDArray[np.bool_]":
        """Files that more than one rank, or process without a rank, wrote."""
        writers, spans = self.rows["writers"], self.merge.spans
        several = writers["first"] != writers["last"]
        if len(spans):
            first = spans[writers["first"]]
            several = several | ((writers["first"] != 0) & (first["low"] != first["high"]))
        ranked = writers["first"] != 0
        shared: NDArray[np.bool_] = several | (self.rows["lone_writers"] + ranked > 1)
        return shared

    @functools.cached_property
    def is_written(self) -> "NDArray[np.bool_]":
        written: NDArray[np.bool_] = (self.rows["writers"]["first"] != 0) | (
            self.rows["lone_writers"] != 0
        )
        return written

    @property
    def pattern(self) -> str:
        """Of the run: by the files that were written, without helper files."""
        counted = self.is_written & ~self.is_helper
        shared = int((self.is_shared & counted).sum())
        alone = int(counted.sum()) - shared
        if shared and alone:
            return MIXED
        return SSF if shared else FPP if alone else ""

    def records(self, stat: bool = True) -> Iterator[FileRecord]:
        """All files, by name; `stat`: with their size and layout of now."""
        for index in sorted(range(len(self)), key=self.name):
            if not (stat and self._is_no_file(index)):
                yield self.record(index, stat)

    def _is_no_file(self, index: int) -> bool:
        """Whether only something else than a file was opened under the name."""
        is_used = self.is_written[index] or self.rows["size_bytes"][index] != SIZE_UNKNOWN
        return not is_used and disk.is_no_file(self.name(index))

    def record(self, index: int, stat: bool = True) -> FileRecord:
        number = int(self._numbers[index])
        row = self.merge.core.rows[number]
        name = self.name(index)
        layers = [int(each) for each in row.layer_bytes]
        write_bytes = layers[lib.IEZ_POSIX] + layers[lib.IEZ_STDIO]
        found = disk.look(name) if stat else None
        size_bytes = None if row.size_bytes == SIZE_UNKNOWN else int(row.size_bytes)
        stripes = disk.Stripes(count=row.stripe_count or None)
        if found is not None:
            size_bytes = found.size_bytes
        if found is not None and found.stripes.count is not None:
            stripes = found.stripes
        elif row.layout_bytes:
            record = self.merge.text(row.layout_at, row.layout_bytes)
            stripes = disk.stripes_of_record(record, size_bytes or 0)
        created = bool(row.flags & lib.IEZ_FILE_CREATED)
        writers = self.merge.ranks(row.writers.first)
        lowest = writers[0][0] if writers else -1
        return FileRecord(
            file_name=decode(name),
            write_bytes=write_bytes,
            stripe_count=stripes.count,
            mpi_rank=row.created_rank if row.created_rank >= 0 else lowest,
            communicator=self._communicator(row.comm_size, row.mpi_openers.first),
            writes=int(row.writes),
            size_bytes=size_bytes,
            api=tuple(api for bit, api in enumerate(APIS) if row.apis >> bit & 1),
            pattern=self._pattern(index),
            ranks=format_ranks(writers),
            created=created,
            unseen_bytes=max(0, (size_bytes or 0) - write_bytes) if created else 0,
            posix_bytes=layers[lib.IEZ_POSIX],
            stdio_bytes=layers[lib.IEZ_STDIO],
            mpiio_bytes=layers[lib.IEZ_MPIIO],
            hdf5_bytes=layers[lib.IEZ_HDF5],
            read_bytes=int(row.read_bytes),
            reads=int(row.reads),
            write_end=int(row.write_end),
            set_bytes=int(row.set_bytes),
            first_write_s=seconds(row.first_write_ns),
            last_write_s=seconds(row.last_write_ns),
            opens=int(row.opens),
            creates=int(row.creates),
            access=tuple(word for bit, word in ACCESS.items() if row.flags & bit),
            records=int(row.records),
            communicator_size=int(row.comm_size),
            stripe_size=stripes.size_bytes,
            ost_list=stripes.osts,
            extents=stripes.extents,
            outcome=OUTCOMES.get(row.outcome - 1, "") if row.outcome else "",
            renamed_from=tuple(map(decode, self.names.earlier.get(number, ()))),
            unlinked=number in self.names.unlinked and found is None,
            helper=bool(self.is_helper[index]),
            write_sizes=write_sizes(self.merge.sizes(number)),
        )

    def _pattern(self, index: int) -> str:
        return (SSF if self.is_shared[index] else FPP) if self.is_written[index] else ""

    def write_sizes(self) -> dict[str, int]:
        """The histogram of all files but helper files."""
        return write_sizes(self.merge.sum_sizes(self.rows[~self.is_helper]))

    def _communicator(self, size: int, openers: int) -> str:
        """An identity that all files of one communicator share. MPI has none to ask for without
        communication, so it is made of the ranks that opened the file together."""
        if size <= 1:
            return "self" if size else ""
        ranks = self.merge.ranks(openers)
        if not ranks:
            return ""
        if self.totals.world_size and ranks == [(0, self.totals.world_size - 1)]:
            return "world"
        return hashlib.blake2b(format_ranks(ranks).encode(), digest_size=4).hexdigest()


def read_table(directory: Path, run: int | None = None) -> FileTable:
    """Parses the trace directory; `run` is the number of a run in it, None the newest."""
    return FileTable(merge_traces(find_traces(directory, run)))
