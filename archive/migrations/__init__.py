"""Alembic's migrations: how archives of older versions are brought up to date.

A change of `archive.tables` comes with a new module in `versions` (its revision the next number) and with
`archive.schema.REVISION` raised; a test compares the tables with the migrations' result.
"""
