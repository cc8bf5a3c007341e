"""Lineage: recursive queries over the parent edges."""

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select

from archive.reading import PROGRAM
from archive.records import EdgeRole
from archive.tables import parent_edges, programs

Query = Callable[[int, Collection[EdgeRole]], Select[Any]]
"""From a program's number and roles of edges to a statement that finds relatives."""


def _of(roles: Collection[EdgeRole]) -> ColumnElement[bool]:
    return and_(parent_edges.c.parent_id.is_not(None), parent_edges.c.role.in_(sorted(roles)))


def parents(program: int, roles: Collection[EdgeRole]) -> Select[Any]:
    """Programs that one was made from, one for each edge, in their order."""
    return (
        PROGRAM.join(parent_edges, parent_edges.c.parent_id == programs.c.id)
        .where(parent_edges.c.child_id == program, _of(roles))
        .order_by(parent_edges.c.position)
    )


def children(program: int, roles: Collection[EdgeRole]) -> Select[Any]:
    """Programs that were made from one, in the order of their commits."""
    made = select(parent_edges.c.child_id).where(parent_edges.c.parent_id == program, _of(roles))
    return PROGRAM.where(programs.c.id.in_(made)).order_by(programs.c.id)


def ancestors(program: int, roles: Collection[EdgeRole]) -> Select[Any]:
    """Parents, their parents and so on, latest first."""
    line = (
        select(parent_edges.c.parent_id.label("id"))
        .where(parent_edges.c.child_id == program, _of(roles))
        .cte("line", recursive=True)
    )
    # UNION, not UNION ALL: an ancestor reached by many paths is followed once.
    line = line.union(
        select(parent_edges.c.parent_id).join(line, line.c.id == parent_edges.c.child_id).where(_of(roles))
    )
    return PROGRAM.where(programs.c.id.in_(select(line.c.id))).order_by(programs.c.id.desc())
