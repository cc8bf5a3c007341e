"""The first tables: runs, claims, islands, instances, programs, edges, tunings, outcomes, proposals, events, skills."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make them."""
    _runs()
    _programs()
    _parts_of_programs()
    _events()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("direction", sa.Text, nullable=False),
        sa.Column("settings", sa.Text),
        sa.Column("facts", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("changed", sa.Double, nullable=False),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("problem", "number"),
    )
    op.create_table(
        "claims",
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), primary_key=True, autoincrement=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("beat", sa.Double, nullable=False),
    )
    op.create_table(
        "islands",
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("settings", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "instances",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("split", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.UniqueConstraint("run_id", "split", "key"),
    )


def _programs() -> None:
    op.create_table(
        "programs",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("island", sa.Integer),
        sa.Column("operator", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("parameter_values", sa.Text),
        sa.Column("train_score", sa.Double),
        sa.Column("validation_score", sa.Double),
        sa.Column("descriptors", sa.Text),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("evaluations", sa.BigInteger, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("compiled", sa.Boolean),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("cpu_seconds", sa.Double, nullable=False),
        sa.Column("committed", sa.Double, nullable=False),
        sa.UniqueConstraint("run_id", "name"),
        sa.ForeignKeyConstraint(["run_id", "island"], ["islands.run_id", "islands.number"]),
    )
    op.create_index(None, "programs", ["run_id", "id"])
    op.create_index(None, "programs", ["run_id", "train_score"])
    op.create_index(None, "programs", ["run_id", "validation_score"])
    op.create_index(None, "programs", ["run_id", "role", "status"])
    op.create_table(
        "skills",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("parameters", sa.Text),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("gain", sa.Double, nullable=False),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.UniqueConstraint("run_id", "name"),
    )


def _parts_of_programs() -> None:
    op.create_table(
        "parent_edges",
        sa.Column("child_id", _NUMBER, sa.ForeignKey("programs.id"), primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("parent_id", _NUMBER, sa.ForeignKey("programs.id")),
        sa.Column("skill_id", _NUMBER, sa.ForeignKey("skills.id")),
        sa.CheckConstraint("(parent_id IS NULL) <> (skill_id IS NULL)", name="one_source"),
        sqlite_with_rowid=False,
    )
    op.create_index(None, "parent_edges", ["parent_id"])
    op.create_index(None, "parent_edges", ["skill_id"])
    op.create_table(
        "tunings",
        sa.Column("program_id", _NUMBER, sa.ForeignKey("programs.id"), primary_key=True, autoincrement=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("vectors", sa.BigInteger, nullable=False),
        sa.Column("evaluations", sa.BigInteger, nullable=False),
        sa.Column("evaluations_saved", sa.BigInteger, nullable=False),
        sa.Column("start_score", sa.Double),
        sa.Column("best_score", sa.Double),
        sa.Column("history", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "outcomes",
        sa.Column("program_id", _NUMBER, sa.ForeignKey("programs.id"), primary_key=True, autoincrement=False),
        sa.Column("instance_id", _NUMBER, sa.ForeignKey("instances.id"), primary_key=True, autoincrement=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("metrics", sa.Text),
        sa.CheckConstraint("(score IS NULL) = (status <> 'ok')", name="failure_has_no_score"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "proposals",
        sa.Column("program_id", _NUMBER, sa.ForeignKey("programs.id"), primary_key=True, autoincrement=False),
        sa.Column("proposer", sa.Text, nullable=False),
        sa.Column("operator", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("detail", sa.Text),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("run_id", _NUMBER, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("ticket", sa.Integer),
        sa.Column("data", sa.Text),
        sa.Column("deterministic", sa.Boolean, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.UniqueConstraint("run_id", "key"),
    )
    op.create_index(None, "events", ["run_id", "id"])
    op.create_index(None, "events", ["run_id", "kind", "id"])
