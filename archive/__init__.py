"""The archive: every run, program, parent, score and event in one database; it knows nothing of evolution but records.

Importing it is cheap: SQLAlchemy is loaded when an archive is opened, Alembic when an old one is brought up to date.
"""

from archive.contract import DESCENT, Archive, Status
from archive.errors import ArchiveError, ClaimError, NotFoundError, RecordError, SchemaError, StorageError
from archive.plain import Json
from archive.records import (
    OK,
    ClaimRecord,
    Direction,
    EdgeRole,
    EventRecord,
    IslandRecord,
    OutcomeRecord,
    ParentEdge,
    ProgramRecord,
    ProposalRecord,
    Role,
    RunRecord,
    SkillRecord,
    TuningRecord,
    Values,
)

__all__ = [
    "DESCENT",
    "OK",
    "Archive",
    "ArchiveError",
    "ClaimError",
    "ClaimRecord",
    "Direction",
    "EdgeRole",
    "EventRecord",
    "IslandRecord",
    "Json",
    "NotFoundError",
    "OutcomeRecord",
    "ParentEdge",
    "ProgramRecord",
    "ProposalRecord",
    "RecordError",
    "Role",
    "RunRecord",
    "SchemaError",
    "SkillRecord",
    "Status",
    "StorageError",
    "TuningRecord",
    "Values",
]
