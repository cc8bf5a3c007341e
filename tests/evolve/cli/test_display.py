"""Rate and time left tell of this process's own tickets."""

from datetime import UTC, datetime

import pytest

from archive import ProgramRecord
from evolve.cli import display
from evolve.cli.display import Pace

LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    moments = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: moments[-1])
    return moments


def ticket(number, evaluations=1000, committed=None):
    return ProgramRecord(name=f"t{number}", role="ticket", number=number, evaluations=evaluations, committed=committed)


def test_baselines_and_replayed_tickets_do_not_count(clock):
    pace = Pace()
    clock.append(130.0)
    pace.count(ProgramRecord(name="b0", role="baseline", number=0, evaluations=10**6))
    for number in range(50):
        pace.count(ticket(number, 10**6, LONG_AGO))
    assert (pace.rate, pace.left(50)) == (None, None)
    clock.append(134.0)
    pace.count(ticket(50))
    assert (pace.rate, pace.left(49)) == (None, None)
    clock.append(140.0)
    pace.count(ticket(51))
    assert pace.rate == pytest.approx(200.0)
    assert pace.left(48) == pytest.approx(240.0)
