"""Who sends migrants to whom."""

from typing import Literal


def routes(topology: Literal["ring", "full"], islands: int) -> list[tuple[int, int]]:
    """Pairs (from, to) of islands that exchange copies of their best programs.

    Args:
        topology: `ring` sends to the next island only, `full` to every other.
        islands: how many there are.
    """
    if islands < 2:
        return []
    if topology == "ring":
        return [(index, (index + 1) % islands) for index in range(islands)]
    return [(index, other) for index in range(islands) for other in range(islands) if other != index]
