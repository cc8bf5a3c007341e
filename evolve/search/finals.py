"""The end of a run: finalists are scored once more in fresh processes, and the holdout split is opened.

Three things are checked that no program may be trusted with. Scored again in a fresh child on the same instances, it must
come to the same scores, or it kept state between blocks. Run as plain Python, it must come to about the scores that it had
compiled, or it leans on what a compiler lets pass. And what it gained over the reference on the instances of the search
must not turn into a clear loss on instances that it has not met, nor vanish there, or it told the one from the other. A
program that fails a check is marked, with the figures, and is not the champion.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from archive import Archive, EventRecord
from evolve.evaluation.tasks import Evaluation, ScoreTask, Status, Task
from evolve.problem import SPLITS, Evidence, Problem, Split
from evolve.search.commit import outcome_records
from evolve.search.population import Member
from evolve.search.state import SearchState
from evolve.settings import RunSettings
from evolve.stats import PairedDifference, paired_difference

PLAIN_TOLERANCE = 0.01
"""Relative difference of mean scores up to which compiled and plain count as the same: a decision that is rounded to whole
units may tip over on the last digit."""

PLAIN_ROW_STEPS = 2_000_000
"""Most decisions that are checked in plain Python, some ten seconds a million; a larger split is not."""

VANISHED = 0.1
"""A clear gain in the search of which clearly less than this share is left on holdout has vanished."""

REPEAT_TOLERANCE = 1e-9
"""Relative difference up to which two scores of one program on one instance count as the same."""

Scores = Mapping[Split, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """One program on all splits, scored in a fresh child.

    Args:
        name: its name in the run.
        label: what people call it.
        member: the program.
        scores: per split, score by instance key.
        mark: why it must not be trusted, with figures; empty if nothing speaks against it.
        evidence: text and figures of its behaviour on validation, for the champion.
    """

    name: str
    label: str
    member: Member
    scores: Scores
    mark: str = ""
    evidence: Evidence | None = None

    def mean(self, split: Split) -> float:
        """Mean score on a split."""
        values = self.scores[split].values()
        return sum(values) / len(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finals:
    """Finalists and baselines.

    Args:
        finalists: evolved programs, best on validation first, marked ones last.
        baselines: best on validation first.
        groups: per split, group by instance key.
        maximize: whether larger scores are better.
    """

    finalists: Sequence[Final]
    baselines: Sequence[Final]
    groups: Mapping[Split, Mapping[str, str]]
    maximize: bool

    @property
    def champion(self) -> Final:
        """The best unmarked finalist on validation (the best marked one, if all are)."""
        return self.finalists[0]

    def difference(self, first: Final, second: Final, split: Split) -> PairedDifference:
        """Paired difference first − second on a split."""
        return paired_difference(first.scores[split], second.scores[split], self.groups[split], maximize=self.maximize)


Evaluate = Callable[[Task], Awaitable[Evaluation]]


async def run_finals(
    archive: Archive,
    run: str,
    *,
    problem: Problem[Any, Any],
    settings: RunSettings,
    state: SearchState,
    evaluate: Evaluate,
) -> Finals | None:
    """Score finalists and baselines on all splits and archive the outcomes; None if the search found nothing.

    The holdout split is opened here and nowhere else in a run; the archive keeps when, and for which programs.
    """
    members = state.finalists(settings.finalists)
    if not members:
        return None
    baselines = sorted(state.baselines.items(), key=lambda item: state.loss(item[1].validation))
    compared = baselines or _best_start_program(state)
    labelled = [(member.name, member, index == 0) for index, member in enumerate(members)]
    labelled += [(label, member, False) for label, member in compared if member not in members]
    decisions = len(problem.instances("validation", settings.seed)) * problem.decisions
    checked = members if decisions <= PLAIN_ROW_STEPS else []
    evaluations, in_plain = await asyncio.gather(
        asyncio.gather(*(evaluate(_task(archive, run, member, show)) for _, member, show in labelled)),
        asyncio.gather(*(_plain_mark(archive, run, member, evaluate) for member in checked)),
    )
    plain_marks = {member.name: mark for member, mark in zip(checked, in_plain, strict=True)}
    names = [member.name for _, member, _ in labelled]
    _archive(archive, run, names, evaluations)
    finals = {
        member.name: _final(label, member, evaluation, _archived_scores(archive, run, member.name))
        for (label, member, _), evaluation in zip(labelled, evaluations, strict=True)
    }
    groups = {split: {i.key: i.group for i in problem.instances(split, settings.seed)} for split in SPLITS}
    references = [finals[member.name] for _, member in compared if finals[member.name].scores]
    judged = [
        _judge(
            _marked(finals[member.name], plain_marks.get(member.name, "")), references, groups, maximize=state.maximize
        )
        for member in members
    ]
    judged.sort(key=lambda final: bool(final.mark))
    judged_names = {"finalists": [final.name for final in judged], "marked": {f.name: f.mark for f in judged if f.mark}}
    archive.commit(run, events=[EventRecord(kind="finalists", key="finalists", data=judged_names)])
    return Finals(finalists=judged, baselines=references if baselines else [], groups=groups, maximize=state.maximize)


def _task(archive: Archive, run: str, member: Member, show: bool) -> ScoreTask:
    compiled = archive.program(run, member.name).compiled
    return ScoreTask(source=member.source, values=member.values, splits=SPLITS, compiled=compiled, evidence=show)


def _best_start_program(state: SearchState) -> list[tuple[str, Member]]:
    """What to compare with where a problem brings no baselines."""
    seeds = [member for name, member in state.members.items() if name.startswith("s")]
    best = min(seeds, key=lambda member: (state.loss(member.validation), member.name), default=None)
    return [] if best is None else [(best.name, best)]


async def _plain_mark(archive: Archive, run: str, member: Member, evaluate: Evaluate) -> str:
    """Compare with plain Python on validation; returns what is wrong, or nothing."""
    if not archive.program(run, member.name).compiled:
        return ""
    task = ScoreTask(source=member.source, values=member.values, splits=("validation",), compiled=False)
    evaluation = await evaluate(task)
    if evaluation.status is not Status.OK:
        return f"fails where it is not compiled: {evaluation.reason}"
    plain = evaluation.scores["validation"]
    if math.isclose(plain, member.validation, rel_tol=PLAIN_TOLERANCE, abs_tol=REPEAT_TOLERANCE):
        return ""
    return f"scores {member.validation:.6g} on validation compiled, and {plain:.6g} as plain Python"


def _marked(final: Final, mark: str) -> Final:
    return replace(final, mark=final.mark or mark)


def _archived_scores(archive: Archive, run: str, name: str) -> Mapping[str, Mapping[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for outcome in archive.outcomes(run, name):
        if outcome.score is not None:
            scores.setdefault(outcome.split, {})[outcome.instance] = outcome.score
    return scores


def _final(label: str, member: Member, evaluation: Evaluation, archived: Mapping[str, Mapping[str, float]]) -> Final:
    if evaluation.status is not Status.OK:
        return Final(
            name=member.name,
            label=label,
            member=member,
            scores={},
            mark=f"failed when scored again: {evaluation.reason}",
        )
    scores: Scores = {
        split: {key: outcome.score for key, outcome in outcomes.items()}
        for split, outcomes in evaluation.outcomes.items()
    }
    return Final(
        name=member.name,
        label=label,
        member=member,
        scores=scores,
        mark=_unrepeated(scores, archived),
        evidence=evaluation.evidence,
    )


def _unrepeated(scores: Scores, archived: Mapping[str, Mapping[str, float]]) -> str:
    for split in ("train", "validation"):
        for key, before in archived[split].items():
            now = scores[split][key]
            if not math.isclose(now, before, rel_tol=REPEAT_TOLERANCE, abs_tol=REPEAT_TOLERANCE):
                return f"scored {before:.6g} on {split} instance {key} in the search and {now:.6g} in a fresh process"
    return ""


def _judge(
    final: Final, references: Sequence[Final], groups: Mapping[Split, Mapping[str, str]], *, maximize: bool
) -> Final:
    """Mark a program whose gain over the reference did not outlive the instances of the search."""
    if final.mark or not references or references[0].name == final.name:
        return final
    reference = references[0]
    sign = -1.0 if maximize else 1.0
    differences = {
        split: paired_difference(final.scores[split], reference.scores[split], groups[split], maximize=maximize)
        for split in SPLITS
    }
    # gains, larger is better, as mean and interval
    gain = {split: -sign * difference.mean for split, difference in differences.items()}
    low = {split: gain[split] - (d.high - d.low) / 2 for split, d in differences.items()}
    high = {split: gain[split] + (d.high - d.low) / 2 for split, d in differences.items()}
    gained = max(low["train"], low["validation"]) > 0
    turned = gained and high["holdout"] < 0
    vanished = gained and high["holdout"] < VANISHED * min(gain["train"], gain["validation"])
    if not (turned or vanished):
        return final
    told = ", ".join(f"{split} {d.mean:+.4g} [{d.low:+.4g}, {d.high:+.4g}]" for split, d in differences.items())
    return _marked(final, f"what it gains over {reference.label} does not outlive the instances of the search: {told}")


def _archive(archive: Archive, run: str, names: Sequence[str], evaluations: Sequence[Evaluation]) -> None:
    """Keep the holdout outcomes, and that the split was opened."""
    holdout = {
        name: [record for record in outcome_records(evaluation) if record.split == "holdout"]
        for name, evaluation in zip(names, evaluations, strict=True)
        if evaluation.status is Status.OK
    }
    opened = EventRecord(kind="holdout", key="holdout", data={"programs": list(names)})
    archive.commit(run, outcomes=holdout, events=[opened])
