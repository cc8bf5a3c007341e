"""What Alembic executes to run migrations: on the connection, and in the transaction, that it is given."""

from alembic import context

from archive.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters most things by copying the table
)
context.run_migrations()
