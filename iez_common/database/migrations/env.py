"""Runs the scripts of versions/ on the connection that migrate.py hands over."""

from alembic import context

_attributes = context.config.attributes
context.configure(
    connection=_attributes["connection"],
    version_table=_attributes["version_table"],
    # SQLite can take back changes of tables, servers cannot.
    transactional_ddl=_attributes["connection"].dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
