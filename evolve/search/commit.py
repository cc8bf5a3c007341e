"""From a proposal and its evaluation to the record that is archived."""

import ast
from dataclasses import dataclass, replace

from archive import OutcomeRecord, ParentEdge, ProgramRecord, ProposalRecord, TuningRecord
from evolve.errors import ProgramError
from evolve.evaluation.tasks import Evaluation, Status
from evolve.fingerprint import fingerprint
from evolve.problem import Signature
from evolve.program import read_program


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal's text as read: normalised, with its identity, or with what is wrong with it."""

    source: str
    fingerprint: str = ""
    size: int = 0
    fault: Evaluation | None = None


def read_candidate(source: str, signature: Signature) -> Candidate:
    """Read a program's text; what breaks the contract becomes a finished evaluation with its reason."""
    try:
        program = read_program(source, signature.entry, signature.positional)
    except ProgramError as error:
        fault = Evaluation(status=Status.REFUSED, kind=error.kind, reason=str(error))
        return Candidate(source, fault=fault)
    size = sum(1 for _ in ast.walk(program.tree))
    return Candidate(program.source, fingerprint(program, signature.positional), size)


def program_record(
    *,
    name: str,
    role: str,
    number: int,
    candidate: Candidate,
    evaluation: Evaluation,
    operator: str,
    level: str,
    label: str = "",
    island: int | None = None,
    parents: tuple[ParentEdge, ...] = (),
    proposer: str = "",
    note: str = "",
) -> ProgramRecord:
    """The archive's record of one program."""
    proposal = ProposalRecord(proposer=proposer, operator=operator, note=note) if proposer else None
    return ProgramRecord(
        name=name,
        role=role,  # type: ignore[arg-type]
        number=number,
        label=label,
        island=island,
        operator=operator,
        status=evaluation.status.value,
        kind=evaluation.kind,
        reason=evaluation.reason,
        source=candidate.source,
        values=evaluation.values,
        train_score=evaluation.scores.get("train"),
        validation_score=evaluation.scores.get("validation"),
        descriptors=evaluation.descriptors,
        size=candidate.size,
        fingerprint=candidate.fingerprint,
        parents=parents,
        tuning=_tuning(evaluation),
        outcomes=outcome_records(evaluation),
        proposal=proposal,
        evaluations=evaluation.evaluations,
        level=level,
        compiled=evaluation.compiled,
        seconds=evaluation.seconds,
        cpu_seconds=evaluation.cpu_seconds,
    )


def outcome_records(evaluation: Evaluation) -> tuple[OutcomeRecord, ...]:
    """Outcomes of all splits as the archive keeps them."""
    return tuple(
        OutcomeRecord(split=split, instance=key, score=outcome.score, metrics=outcome.metrics)
        for split, outcomes in evaluation.outcomes.items()
        for key, outcome in outcomes.items()
    )


def _tuning(evaluation: Evaluation) -> TuningRecord | None:
    tuned = evaluation.tuned
    if tuned is None:
        return None
    return TuningRecord(
        method=tuned.method,
        vectors=tuned.vectors,
        evaluations=tuned.evaluations,
        evaluations_saved=tuned.saved,
        start_score=tuned.start_score,
        best_score=tuned.best_score,
        history=tuple(tuned.history),
    )


def as_duplicate(record: ProgramRecord, first: str) -> ProgramRecord:
    """The record of a program that was evaluated although `first`, committed meanwhile, is the same."""
    return replace(
        record,
        status=Status.DUPLICATE.value,
        kind="",
        reason=f"the same program as {first}",
        values={},
        train_score=None,
        validation_score=None,
        descriptors={},
        tuning=None,
        outcomes=(),
        evaluations=0,
        compiled=None,
    )
