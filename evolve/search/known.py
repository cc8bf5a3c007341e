"""Which programs have been seen, as of any point of the run."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Known:
    """Fingerprints of committed programs, in the order of their commits."""

    _order: dict[str, int] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def add(self, fingerprint: str, name: str) -> None:
        """Record a committed program; the first of its kind keeps the fingerprint."""
        if fingerprint not in self._order:
            self._order[fingerprint] = len(self._order)
            self._names[fingerprint] = name

    def name_of(self, fingerprint: str) -> str | None:
        """Name of the first program of this fingerprint."""
        return self._names.get(fingerprint)

    def now(self) -> Collection[str]:
        """What is known at this moment: the view does not change when more is added."""
        return _View(self._order, len(self._order))


@dataclass(frozen=True, slots=True)
class _View(Collection[str]):
    """The first `count` fingerprints; costs nothing to take, unlike a copy of a growing set."""

    order: dict[str, int]
    count: int

    def __contains__(self, fingerprint: object) -> bool:
        return isinstance(fingerprint, str) and self.order.get(fingerprint, self.count) < self.count

    def __iter__(self) -> Iterator[str]:
        return (fingerprint for fingerprint, position in self.order.items() if position < self.count)

    def __len__(self) -> int:
        return self.count
