"""Walking and changing syntax trees; walking is several times faster than `ast.walk`, since proposals do it by the dozen."""

import ast
from dataclasses import dataclass
from typing import Any

_LEAVES = frozenset({"ctx", "id", "op", "ops", "attr", "kind", "type_comment", "simple", "is_async", "conversion"})
"""Fields that hold no expressions and no statements, and are met often."""


class _Inner(dict[type[ast.AST], tuple[str, ...]]):
    """Per type of node: the fields that hold others."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind is ast.Constant else tuple(field for field in kind._fields if field not in _LEAVES)
        return self.setdefault(kind, fields)


_INNER = _Inner()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression hangs, so that another can be put there.

    Args:
        holder: the node it hangs on.
        field: the holder's field.
        index: place in the field, where that is a list.
    """

    holder: ast.AST
    field: str
    index: int | None

    @property
    def node(self) -> ast.expr:
        """The expression that stands here now."""
        value: Any = getattr(self.holder, self.field)
        node: ast.expr = value if self.index is None else value[self.index]
        return node

    def put(self, node: ast.expr) -> None:
        """Replace the expression."""
        if self.index is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.index] = node


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all within it, level by level: `ast.walk`, several times faster, without operators and contexts."""
    found = [node]
    for reached in found:  # grows while it is read
        for field in _INNER[type(reached)]:  # as `children`, which would double the time
            value = getattr(reached, field, None)
            if type(value) is list:
                found += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, without operators and contexts."""
    found: list[ast.AST] = []
    for field in _INNER[type(node)]:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def is_deeper(tree: ast.AST, levels: int) -> ast.AST | None:
    """A node more than so many levels below the top of a tree, or None if there is none."""
    level = [tree]
    for _ in range(levels):
        level = [child for node in level for child in children(node)]
        if not level:
            return None
    return level[0]
