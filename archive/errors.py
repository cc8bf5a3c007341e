"""What can go wrong with an archive. A caller never needs to catch everything.

ArchiveError          base of all; its text is one clear line for a person: what, where, what to do
├── RecordError       a record breaks its contract (a score that is no finite number, an unknown parent)
├── NotFoundError     no such archive, run or program
├── ClaimError        another live process is the run's engine
├── SchemaError       the archive's tables are of another version than this code can use, or are not an archive's
└── StorageError      the database cannot be reached, read or written: disk full, locked, read-only, damaged

Errors of the database itself are turned into these in one place, `archive.dialects`.
"""


class ArchiveError(Exception):
    """Base of every error that this package raises on purpose."""


class RecordError(ArchiveError):
    """A record breaks its contract; nothing was written."""


class NotFoundError(ArchiveError):
    """There is no archive, run or program of that name."""


class ClaimError(ArchiveError):
    """The run belongs to another process."""


class SchemaError(ArchiveError):
    """The tables are not those that this code knows."""


class StorageError(ArchiveError):
    """The database cannot be reached, read or written."""
