"""Records to store: small ones with everything that is hard to keep."""

from iez_common.database import Database
from iez_common.knowledge import (
    Application,
    Field,
    ObservedFile,
    Outcome,
    PlannedLayout,
    Planning,
    Prediction,
    Run,
    Template,
)

# Bytes that are no UTF-8, as Python gives them; quotes, blanks at the end, other planes.
ODD = "o'd\"d\\ %s \udcff\udc80 \N{SNOWMAN}\N{PILE OF POO}\n "
BIG = 2**63 - 1


def an_application(database: Database, key: str = "a" * 64, owner: str = "ann") -> Application:
    return database.get_application(owner, key, name="hacc", program="hacc_io", shape="-n #")


def a_run(identity: int = 1, started_s: float = 100.0, status: int = 0) -> Run:
    return Run(
        identity=identity,
        started_s=started_s,
        ended_s=started_s + 10.25,
        command=("mpirun", ODD, "./hacc_io"),
        directory=f"/home/{ODD}",
        rank_count=8,
        host_count=2,
        status=status,
        trace_dir="/state/traces/1",
    )


def files(count: int, template_id: int = 1, folder: str = "/lustre/out") -> list[ObservedFile]:
    return [
        ObservedFile(
            path=f"{folder}/part-{number:08}",
            template_id=template_id,
            field_values=(f"{number:08}",),
            mpi_rank=number % 8,
            write_bytes=number << 20,
            first_write_s=0.125 * number,
            writers=1,
            access_bytes=1 << 20,
            stripe_count=1,
            stripe_size_bytes=1 << 20,
            ost_list=(number % 15,),
            outcome="placed",
        )
        for number in range(count)
    ]


ODD_FILES = [
    ObservedFile(f"/l/{ODD}", 0, (ODD, "", "7"), -1, BIG, 0.1, 2**31 - 1, BIG, 0, BIG, (), ""),
    ObservedFile("/l/" + "x" * 70_000, 1, (), 0, 0, 1e9 + 1e-6, 1, 1, 2, 65536, (3, 0), "missed"),
    ObservedFile("/l/", 1, ("",), 0, 0, 0.0, 0, 0, 2000, 65536, tuple(range(2000)), "placed"),
    ObservedFile("/l/p", 1, (), 0, 9, 0.0, 1, 0, 2, 65536, (1, 2, 3), "placed", "65536:1 eof:2"),
]


def store_run(
    database: Database,
    application: Application,
    run: Run | None = None,
    created: list[ObservedFile] | None = None,
) -> int:
    """A complete run."""
    created = files(3) if created is None else created
    run_id = database.add_run(application, run or a_run())
    assert run_id is not None
    database.add_files(run_id, created)
    database.complete_run(
        run_id,
        [Outcome("placed", "as planned", len(created)), Outcome("missed", ODD, 0)],
        file_count=len(created),
        write_bytes=sum(file.write_bytes for file in created if file.write_bytes < BIG),
        unknown_count=1,
    )
    return run_id


def templates(*texts: str) -> list[Template]:
    fields = (Field("rank", width=8, first=2, stride=3), Field("random"))
    return [Template(text, fields, f"/lustre/{text}", file_count=5, run_count=1) for text in texts]


def a_planning(made_s: float = 200.0, after_run_id: int = 0) -> Planning:
    return Planning(made_s, after_run_id, '{"osts": [0, 1]}')


PREDICTIONS = [
    Prediction(f"/l/{ODD}", 1, 3, 0, 1 << 20, 2 << 20, 0, 1, 65536, "affine", 0.0),
    Prediction("/l/tmp.*", 0, -1, 7, BIG, BIG, 4, 8, 1, "last", float("inf")),
]
LAYOUTS = [
    PlannedLayout(f"/l/{ODD}", 3, 0, 1 << 20, 2, 1 << 20, (4, 5)),
    PlannedLayout("/l/tmp.*", -1, 7, BIG, 0, 0, ()),
    PlannedLayout("/l/p", 0, 0, 9, 2, 65536, (1, 2, 3), "65536:1 eof:2"),
]
