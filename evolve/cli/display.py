"""What a person, a log file or a machine sees of a run: live on a terminal, plain lines without one, JSON on demand."""

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from typing_extensions import override

from archive import ProgramRecord, RunRecord
from evolve.cli import DEFAULT_ARCHIVE
from evolve.search.state import SearchState
from evolve.session import Observer, Result
from evolve.settings import RunSettings


class Display(Observer):
    """Shows a run. A context manager while the run goes on."""

    def __enter__(self) -> Self:
        """Begin to draw."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop drawing."""

    def interrupted(self) -> None:
        """The user stopped the run."""

    def result(self, result: Result, out: Path) -> None:
        """The run is done: show what came of it, and write its pictures into a folder under `out`."""


def make_display(*, json_lines: bool, archive: str) -> Display:
    """The display that fits where the output goes."""
    if json_lines:
        return JsonDisplay()
    from evolve.report.text import make_console

    console = make_console()
    if console.is_terminal:
        from evolve.cli.live import LiveDisplay

        return LiveDisplay(console, archive)
    return PlainDisplay(console, archive)


def resume_command(run: str, archive: str) -> str:
    """What to type to go on with a run."""
    place = "" if archive == DEFAULT_ARCHIVE else f" --archive {archive}"
    return f"evolve resume {run}{place}"


class Pace:
    """How fast the search goes, from the tickets that this process committed; replayed ones of the archive do not count.

    The clock starts when the last program before them, a baseline, a seed or a replayed ticket, was committed.
    """

    def __init__(self) -> None:
        self.tickets = self.evaluations = 0
        self.began = self.now = time.monotonic()

    def count(self, record: ProgramRecord) -> None:
        """Take note of a commit."""
        self.now = time.monotonic()
        if record.role == "ticket" and is_new(record):
            self.tickets += 1
            self.evaluations += record.evaluations
        elif not self.tickets:
            self.began = self.now

    @property
    def rate(self) -> float | None:
        """Evaluations per second, once two tickets tell something of it."""
        seconds = self.now - self.began
        return self.evaluations / seconds if self.tickets >= 2 and seconds > 0 else None

    def left(self, tickets: int) -> float | None:
        """Seconds that so many more tickets will take, once two tell something of it."""
        return (self.now - self.began) / self.tickets * tickets if self.tickets >= 2 else None


def is_new(record: ProgramRecord) -> bool:
    """Whether this process made a record: one that was read from the archive says when it was committed."""
    return record.committed is None


class PlainDisplay(Display):
    """Plain lines: one per baseline and seed, then one every few seconds.

    Args:
        console: where to write.
        archive: what the user called the archive.
    """

    every = 5.0

    def __init__(self, console: Any, archive: str) -> None:
        self.console, self.archive = console, archive
        self.run: RunRecord | None = None
        self.state: SearchState | None = None
        self.tickets = 0
        self.last = time.monotonic()
        self.pace = Pace()

    @override
    def started(self, run: RunRecord, settings: RunSettings, state: SearchState) -> None:
        self.run, self.state, self.tickets = run, state, settings.tickets
        self.last = time.monotonic()
        self._line(
            f"run {run.id}: {settings.tickets} tickets, {settings.islands.count} islands, seed {settings.seed}; "
            f"archive {self.archive}"
        )

    @override
    def committed(self, record: ProgramRecord) -> None:
        from evolve.report.text import outcome_text

        self.pace.count(record)
        if record.role != "ticket":
            score = (
                f"train {record.train_score:.5g}, validation {record.validation_score:.5g}"
                if record.train_score is not None
                else ""
            )
            came_to = f"{record.status}, {score}" if score else outcome_text(record.status, record.reason)
            self._line(f"{record.role} {record.label}: {came_to}")
        elif time.monotonic() - self.last >= self.every or record.number + 1 == self.tickets:
            self.last = time.monotonic()
            self._line(progress_line(self.state, self.tickets, self.pace))

    @override
    def finishing(self) -> None:
        self._line("scoring the finalists on all splits, holdout included")

    @override
    def interrupted(self) -> None:
        if self.run is None:
            self._line("stopped before the run began; nothing is lost")
        else:
            self._line(f"stopped; go on with: {resume_command(self.run.id, self.archive)}")

    @override
    def result(self, result: Result, out: Path) -> None:
        from evolve.report.summary import print_summary, write_pictures

        print_summary(self.console, result, self.archive)
        for path in write_pictures(result, out):
            self._line(f"picture: {path}")

    def _line(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)


def progress_line(state: SearchState | None, tickets: int, pace: Pace) -> str:
    """One line of progress."""
    if state is None:
        return ""
    best, reference = state.leader, state.best_baseline
    parts = [f"ticket {state.tickets}/{tickets}"]
    if best is not None:
        parts.append(f"best {best.name}: train {best.score:.5g}, validation {best.validation:.5g}")
    if reference is not None:
        label, member = reference
        parts.append(f"best baseline {label}: {member.score:.5g}, {member.validation:.5g}")
    if pace.rate is not None:
        parts.append(f"{pace.rate:,.0f} evaluations/s")
    left = pace.left(tickets - state.tickets)
    if left is not None and state.tickets < tickets:
        parts.append(f"{left:.0f} s left")
    return "; ".join(parts)


class JsonDisplay(Display):
    """One JSON object per line on standard output."""

    def __init__(self) -> None:
        self.run = ""

    @override
    def started(self, run: RunRecord, settings: RunSettings, state: SearchState) -> None:
        del state
        self.run = run.id
        self._write(event="started", run=run.id, problem=run.problem, settings=settings.model_dump(mode="json"))

    @override
    def committed(self, record: ProgramRecord) -> None:
        self._write(
            event=record.role,
            run=self.run,
            name=record.name,
            label=record.label,
            island=record.island,
            operator=record.operator,
            status=record.status,
            reason=record.reason,
            train=record.train_score,
            validation=record.validation_score,
            evaluations=record.evaluations,
            seconds=round(record.seconds, 4),
        )

    @override
    def finishing(self) -> None:
        self._write(event="finishing", run=self.run)

    @override
    def interrupted(self) -> None:
        self._write(event="interrupted", run=self.run)

    @override
    def result(self, result: Result, out: Path) -> None:
        from evolve.report.summary import summary_data, write_pictures

        pictures = [str(path) for path in write_pictures(result, out)]
        self._write(event="finished", run=self.run, **summary_data(result), pictures=pictures)

    @staticmethod
    def _write(**fields: Any) -> None:
        from evolve.report.text import print_json

        print_json(fields)
