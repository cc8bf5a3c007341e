"""The live display on a terminal: progress, the best against the baselines, what each island is doing."""

import time
from collections import deque
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from archive import ProgramRecord, RunRecord
from evolve.cli.display import PlainDisplay, is_new
from evolve.report.text import outcome_text
from evolve.search.state import SearchState
from evolve.session import Result
from evolve.settings import RunSettings

RECENT_SECONDS = 10.0


class LiveDisplay(PlainDisplay):
    """Redraws a few times a second while the run goes on; what stays on the screen afterwards is the result.

    Args:
        console: the terminal.
        archive: what the user called the archive.
    """

    def __init__(self, console: Console, archive: str) -> None:
        super().__init__(console, archive)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            expand=False,
        )
        self._task = self._bar.add_task("starting the workers", total=None, left="")
        self._latest: dict[int, ProgramRecord] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    @override
    def started(self, run: RunRecord, settings: RunSettings, state: SearchState) -> None:
        super().started(run, settings, state)
        self._bar.update(self._task, description="tuning baselines and seeds")

    @override
    def committed(self, record: ProgramRecord) -> None:
        now = time.monotonic()
        if is_new(record):
            self._recent.append((now, record.evaluations))
        while self._recent and self._recent[0][0] < now - RECENT_SECONDS:
            self._recent.popleft()
        if record.role == "ticket":
            if record.island is not None:
                self._latest[record.island] = record
            self.pace.count(record)
            done = record.number + 1
            left = self.pace.left(self.tickets - done)
            text = "" if left is None else f"{timedelta(seconds=round(left))} left"
            self._bar.update(self._task, description="tickets", total=self.tickets, completed=done, left=text)
        else:
            super().committed(record)

    @override
    def finishing(self) -> None:
        self._bar.update(self._task, description="scoring the finalists on all splits, holdout included")

    @override
    def result(self, result: Result, out: Path) -> None:
        self._live.stop()
        super().result(result, out)

    def _draw(self) -> RenderableType:
        parts: list[RenderableType] = [self._bar]
        if self.state is not None and self.state.members:
            parts += [self._scores(self.state), self._islands(self.state)]
        return Group(*parts)

    def _scores(self, state: SearchState) -> RenderableType:
        text = Text()
        best = state.leader
        if best is not None:
            text.append("train (validation)  ", style="dim").append(best.name)
            text.append(f" {best.score:.5g}", style="bold green").append(f" ({best.validation:.5g})")
        for label, member in sorted(state.baselines.items(), key=lambda item: state.loss(item[1].score))[:4]:
            text.append("  ·  ", style="dim").append(f"{label} {member.score:.5g} ({member.validation:.5g})")
        rate = sum(count for _, count in self._recent) / RECENT_SECONDS
        saved = state.evaluations_saved / max(state.evaluations + state.evaluations_saved, 1)
        text.append(f"\n{rate:,.0f} evaluations/s, {state.evaluations:,} in all, {saved:.0%} saved by racing")
        counts = ", ".join(f"{status} {count}" for status, count in state.statuses.most_common())
        text.append(f"  ·  {counts}", style="dim")
        return text

    def _islands(self, state: SearchState) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("island", "programs", "best train", "last ticket", "operator", "came to"):
            table.add_column(heading)
        for island in state.islands:
            latest = self._latest.get(island.index)
            best = f"{island.best.score:.5g} ({island.best.name})" if island.best else ""
            row = [str(island.index), str(len(island)), best]
            row += [latest.name, latest.operator, _came_to(latest)] if latest else ["", "", ""]
            table.add_row(*(Text(cell) for cell in row))
        return table


def _came_to(record: ProgramRecord) -> str:
    if record.train_score is not None:
        return f"train {record.train_score:.5g}"
    return outcome_text(record.status, record.reason)[:60]
