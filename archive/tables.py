"""The tables, one per concern.

A run, a program, an instance and a skill each have a number of their own in the archive (`id`), given in the order in
which they are committed: within a run, order of `id` is commit order, and parents come before children. People and
callers never see these numbers; they know runs by name, and programs, instances and skills by their names within a run.

JSON is kept as text, so that it is the same to the last character in every database.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _number() -> TypeEngine[int]:
    return BigInteger().with_variant(Integer(), "sqlite")  # only INTEGER is an alias of SQLite's row number


def _id() -> Column[int]:
    return Column("id", _number(), primary_key=True)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _real(name: str) -> Column[float]:
    return Column(name, Double, nullable=False)


def _reference(name: str, target: str, *, primary_key: bool = False, nullable: bool = False) -> Column[int]:
    return Column(name, _number(), ForeignKey(target), primary_key=primary_key, nullable=nullable, autoincrement=False)


runs = Table(
    "runs",
    metadata,
    _id(),
    _text("name"),
    _text("problem"),
    Column("number", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    _text("direction"),
    Column("settings", Text),
    Column("facts", Text),
    _text("status"),
    _text("reason"),
    _real("created"),
    _real("changed"),
    UniqueConstraint("name"),
    UniqueConstraint("problem", "number"),
)

claims = Table(
    "claims",
    metadata,
    _reference("run_id", "runs.id", primary_key=True),
    _text("token"),
    _text("host"),
    _text("machine"),
    Column("pid", Integer, nullable=False),
    _text("started"),
    _real("since"),
    _real("beat"),
)

islands = Table(
    "islands",
    metadata,
    _reference("run_id", "runs.id", primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("settings", Text),
    sqlite_with_rowid=False,
)

instances = Table(
    "instances",
    metadata,
    _id(),
    _reference("run_id", "runs.id"),
    _text("split"),
    _text("key"),
    UniqueConstraint("run_id", "split", "key"),
)

programs = Table(
    "programs",
    metadata,
    _id(),
    _reference("run_id", "runs.id"),
    _text("name"),
    _text("role"),
    Column("number", Integer, nullable=False),
    _text("label"),
    Column("island", Integer),
    _text("operator"),
    _text("status"),
    _text("kind"),
    _text("reason"),
    _text("source"),
    Column("parameter_values", Text),
    Column("train_score", Double),
    Column("validation_score", Double),
    Column("descriptors", Text),
    Column("size", Integer, nullable=False),
    _text("fingerprint"),
    Column("evaluations", BigInteger, nullable=False),
    _text("level"),
    Column("compiled", Boolean),
    _real("seconds"),
    _real("cpu_seconds"),
    _real("committed"),
    UniqueConstraint("run_id", "name"),
    ForeignKeyConstraint(["run_id", "island"], ["islands.run_id", "islands.number"]),
    Index(None, "run_id", "id"),  # pages in commit order
    Index(None, "run_id", "train_score"),  # the best
    Index(None, "run_id", "validation_score"),
    Index(None, "run_id", "role", "status"),  # counts
)

skills = Table(
    "skills",
    metadata,
    _id(),
    _reference("run_id", "runs.id"),
    _text("name"),
    _text("code"),
    Column("parameters", Text),
    _text("description"),
    _real("gain"),
    Column("uses", Integer, nullable=False),
    UniqueConstraint("run_id", "name"),
)

parent_edges = Table(
    "parent_edges",
    metadata,
    _reference("child_id", "programs.id", primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _text("role"),
    _reference("parent_id", "programs.id", nullable=True),
    _reference("skill_id", "skills.id", nullable=True),
    CheckConstraint("(parent_id IS NULL) <> (skill_id IS NULL)", name="one_source"),
    Index(None, "parent_id"),
    Index(None, "skill_id"),
    sqlite_with_rowid=False,
)

tunings = Table(
    "tunings",
    metadata,
    _reference("program_id", "programs.id", primary_key=True),
    _text("method"),
    Column("vectors", BigInteger, nullable=False),
    Column("evaluations", BigInteger, nullable=False),
    Column("evaluations_saved", BigInteger, nullable=False),
    Column("start_score", Double),
    Column("best_score", Double),
    Column("history", LargeBinary, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    _reference("program_id", "programs.id", primary_key=True),
    _reference("instance_id", "instances.id", primary_key=True),
    _text("status"),
    Column("score", Double),
    Column("metrics", Text),
    CheckConstraint("(score IS NULL) = (status <> 'ok')", name="failure_has_no_score"),
    sqlite_with_rowid=False,  # clustered by program: a program's outcomes lie side by side, with no second index
)

proposals = Table(
    "proposals",
    metadata,
    _reference("program_id", "programs.id", primary_key=True),
    _text("proposer"),
    _text("operator"),
    _text("note"),
    Column("detail", Text),
)

events = Table(
    "events",
    metadata,
    _id(),
    _reference("run_id", "runs.id"),
    _text("kind"),
    Column("ticket", Integer),
    Column("data", Text),
    Column("deterministic", Boolean, nullable=False),
    Column("key", Text),
    _real("at"),
    UniqueConstraint("run_id", "key"),
    Index(None, "run_id", "id"),
    Index(None, "run_id", "kind", "id"),
)
