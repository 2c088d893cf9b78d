"""The first tables."""

import sqlalchemy as sa
from alembic import op

from iez_common.database.columns import (
    BY_ID,
    IN_ORDER,
    LongText,
    Name,
    Number,
    Real,
    belongs_to,
    number,
    ordinal,
    own_id,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "applications",
        own_id(),
        sa.Column("owner", Name(255), nullable=False),
        sa.Column("app_key", Name(255), nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("program", Name, nullable=False),
        sa.Column("shape", Name, nullable=False),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.UniqueConstraint("owner", "app_key", name="applications_key"),
        **BY_ID,
    )
    op.create_table(
        "templates",
        own_id(),
        belongs_to("application"),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("text_hash", sa.BINARY(32), nullable=False),
        sa.Column("text", Name, nullable=False),
        sa.Column("fields", LongText, nullable=False),  # JSON
        sa.Column("example", Name, nullable=False),
        number("file_count"),
        number("run_count"),
        sa.UniqueConstraint("application_id", "epoch", "text_hash", name="templates_key"),
        **BY_ID,
    )
    op.create_table(
        "runs",
        own_id(),
        belongs_to("application"),
        sa.Column("epoch", sa.Integer, nullable=False),
        number("identity"),
        # 1: all its rows are there. 0: it is being loaded or deleted, and nobody sees it.
        sa.Column("is_complete", sa.SmallInteger, nullable=False),
        sa.Column("loaded_s", Real, nullable=False),  # when the loading began
        sa.Column("started_s", Real, nullable=False),
        sa.Column("ended_s", Real, nullable=False),
        sa.Column("command", LongText, nullable=False),  # JSON
        sa.Column("directory", Name, nullable=False),
        sa.Column("rank_count", sa.Integer, nullable=False),
        sa.Column("host_count", sa.Integer, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("trace_dir", Name, nullable=False),
        number("file_count"),
        number("write_bytes"),
        number("unknown_count"),
        sa.UniqueConstraint("application_id", "identity", name="runs_key"),
        sa.Index("runs_newest", "application_id", "is_complete", "started_s"),
        **BY_ID,
    )
    op.create_table(
        "files",
        belongs_to("run", is_key=True),
        ordinal(),
        number("path_key"),
        sa.Column("path", Name, nullable=False),
        number("template_id"),  # no foreign key: to check it takes a sixth of the time of a row
        sa.Column("field_values", Name, nullable=False),
        sa.Column("mpi_rank", sa.Integer, nullable=False),
        number("write_bytes"),
        sa.Column("first_write_s", Real, nullable=False),
        sa.Column("writers", sa.Integer, nullable=False),
        number("access_bytes"),
        sa.Column("stripe_count", sa.Integer, nullable=False),
        number("stripe_size_bytes"),
        sa.Column("ost_list", LongText, nullable=False),
        sa.Column("outcome", sa.String(255), nullable=False),
        sa.Column("extents", LongText, nullable=False),
        sa.Index("files_path", "path_key"),
        sa.Index("files_template", "template_id"),
        **IN_ORDER,
    )
    op.create_table(
        "outcomes",
        belongs_to("run", is_key=True),
        ordinal(),
        sa.Column("outcome", sa.String(255), nullable=False),
        sa.Column("why", Name, nullable=False),
        number("file_count"),
        **IN_ORDER,
    )
    op.create_table(
        "plannings",
        own_id(),
        belongs_to("application"),
        sa.Column("is_complete", sa.SmallInteger, nullable=False),
        sa.Column("loaded_s", Real, nullable=False),  # when its storing began
        sa.Column("made_s", Real, nullable=False),
        sa.Column(
            "after_run_id", Number, sa.ForeignKey("runs.id", ondelete="SET NULL"), nullable=True
        ),
        sa.Column("state", LongText, nullable=False),
        **BY_ID,
    )
    op.create_table(
        "predictions",
        belongs_to("planning", is_key=True),
        ordinal(),
        sa.Column("path", Name, nullable=False),
        number("template_id"),  # no foreign key: to check it takes a sixth of the time of a row
        sa.Column("mpi_rank", sa.Integer, nullable=False),
        number("turn"),
        number("write_bytes"),
        number("high_bytes"),
        sa.Column("stripe_count", sa.Integer, nullable=False),
        sa.Column("writers", sa.Integer, nullable=False),
        number("access_bytes"),
        sa.Column("method", sa.String(255), nullable=False),
        sa.Column("error", Real, nullable=True),  # NULL: infinite, which servers cannot hold
        **IN_ORDER,
    )
    op.create_table(
        "allocations",
        belongs_to("planning", is_key=True),
        ordinal(),
        number("path_key"),
        sa.Column("path", Name, nullable=False),
        sa.Column("mpi_rank", sa.Integer, nullable=False),
        number("turn"),
        number("write_bytes"),
        sa.Column("stripe_count", sa.Integer, nullable=False),
        number("stripe_size_bytes"),
        sa.Column("ost_list", LongText, nullable=False),
        sa.Column("extents", LongText, nullable=False),
        sa.Index("allocations_path", "path_key"),
        **IN_ORDER,
    )
