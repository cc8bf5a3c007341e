"""Runs Alembic inside a transaction that the caller owns."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

SCRIPTS = Path(__file__).parent


def upgrade(connection: Connection, version_table: str, revision: str) -> None:
    """Bring the tables from whatever revision they have to `revision`; all or nothing, by the caller's transaction."""
    config = Config()  # of no file: the scripts lie in this package
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = version_table
    command.upgrade(config, revision)
