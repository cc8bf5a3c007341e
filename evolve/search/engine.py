"""The engine: numbered tickets, several in flight, committed in their order.

Ticket k chooses its parents when ticket k − window has been committed, from the state as of that commit. So the result
depends on the seed and the replies, and not on timing, the number of workers or a crash: a resumed run applies the
archived records again and goes on with the tickets that were in flight.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import numpy as np

from archive import Archive, ParentEdge, ProgramRecord
from evolve.errors import NothingScored
from evolve.evaluation.tasks import Evaluation, Status, Task, TuneTask
from evolve.problem import Problem
from evolve.proposers.base import Proposal, ProposalFailed, Proposer, Request
from evolve.search.commit import Candidate, as_duplicate, program_record, read_candidate
from evolve.search.population import Values
from evolve.search.randomness import Purpose, stream
from evolve.search.selection import power_law
from evolve.search.state import SearchState
from evolve.settings import RunSettings

Evaluate = Callable[[Task], Awaitable[Evaluation]]
Notify = Callable[[ProgramRecord], None]

_ROLE_NUMBER = {"baseline": 0, "seed": 1, "ticket": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ticket:
    """A ticket in flight: its order to the proposer, and the values its child starts from."""

    number: int
    request: Request
    values: Mapping[str, Values]


class Engine:
    """Runs a search to its end, or until it is cancelled.

    Args:
        problem: what to decide.
        settings: how to search.
        archive: where every program goes.
        run: id of the run in the archive.
        state: the state of the search; the engine applies what it commits.
        proposer: who writes programs.
        evaluate: runs a task on a worker.
        level: the sandbox level, stored with every program.
        notify: told of every committed program.
    """

    def __init__(
        self,
        *,
        problem: Problem[object, object],  # type: ignore[type-var]
        settings: RunSettings,
        archive: Archive,
        run: str,
        state: SearchState,
        proposer: Proposer,
        evaluate: Evaluate,
        level: str,
        notify: Notify,
    ) -> None:
        self.problem, self.settings, self.archive, self.run_id = problem, settings, archive, run
        self.state, self.proposer, self.level = state, proposer, level
        self._evaluate, self._notify = evaluate, notify
        self._archived: dict[str, ProgramRecord] = {}
        self._in_flight: dict[str, int] = {}
        self._worst_case = 0
        self.exhausted = False

    async def search(self) -> None:
        """Tune baselines and seeds, then work through the tickets.

        Cancelling it at any moment is safe: what is committed stays, what is in flight is done anew on resume.

        Raises:
            NothingScored: if no seed can be scored: there is nothing to search from.
        """
        self._archived = {record.name: record for record in self.archive.programs(self.run_id)}
        await self._in_order(
            [self._given("baseline", n, *item) for n, item in enumerate(self.problem.baselines().items())]
        )
        await self._in_order([self._given("seed", n, *item) for n, item in enumerate(self.problem.seeds().items())])
        if not self.state.members:
            reason = self.state.reasons.most_common(1)
            raise NothingScored(
                f"no seed program could be scored: {reason[0][0] if reason else 'the problem has no seeds'}"
            )
        await self._tickets()

    # -- baselines and seeds

    async def _in_order(self, work: list[Awaitable[ProgramRecord]]) -> None:
        tasks = [asyncio.ensure_future(item) for item in work]
        await self._drain(deque(tasks), lambda: None)

    async def _given(self, role: str, number: int, label: str, source: str) -> ProgramRecord:
        """Evaluate a program that the problem brought."""
        name = f"{role[0]}{number}"
        if name in self._archived:
            return self._archived[name]
        candidate = read_candidate(source, self.problem.signature)
        evaluation = await self._tune(candidate, role, number, {})
        return program_record(
            name=name,
            role=role,
            number=number,
            label=label,
            operator=role,
            candidate=candidate,
            evaluation=evaluation,
            level=self.level,
        )

    async def _tune(self, candidate: Candidate, role: str, number: int, start: Values) -> Evaluation:
        if candidate.fault is not None:
            return candidate.fault
        seed = stream(self.settings.seed, Purpose.TUNE, _ROLE_NUMBER[role], number)
        assert isinstance(seed.entropy, int)
        return await self._evaluate(
            TuneTask(
                source=candidate.source,
                start=start,
                tuning=self.settings.tuning,
                entropy=seed.entropy,
                spawn_key=tuple(seed.spawn_key),
            )
        )

    # -- tickets

    async def _tickets(self) -> None:
        pending: deque[asyncio.Future[ProgramRecord]] = deque()
        following = iter(range(self.settings.tickets))

        def begin() -> None:
            if self._budget_is_spent(len(pending)):
                return
            number = next(following, None)
            if number is not None:
                pending.append(self._begin(number))

        for _ in range(self.settings.window):
            begin()
        await self._drain(pending, begin)

    async def _drain(self, pending: deque[asyncio.Future[ProgramRecord]], after_commit: Callable[[], None]) -> None:
        """Commit in order; drop what is in flight when the run is cancelled or fails."""
        try:
            while pending:
                record = await pending[0]
                pending.popleft()
                self._commit(record)
                after_commit()
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    def _budget_is_spent(self, in_flight: int) -> bool:
        """Whether the worst case of one more ticket, beside those in flight, would pass the budget of evaluations."""
        budget = self.settings.budget_evaluations
        if budget is None:
            return False
        self.exhausted = self.exhausted or self.state.evaluations + (in_flight + 1) * self._worst_case > budget
        return self.exhausted

    def _begin(self, number: int) -> asyncio.Future[ProgramRecord]:
        """Prepare a ticket from the state as it is now, and set it to work."""
        name = f"t{number}"
        if name in self._archived:
            done: asyncio.Future[ProgramRecord] = asyncio.get_running_loop().create_future()
            done.set_result(self._archived.pop(name))
            return done
        return asyncio.ensure_future(self._work(self._prepare(number)))

    def _prepare(self, number: int) -> _Ticket:
        selection = self.settings.selection
        rng = np.random.default_rng(stream(self.settings.seed, Purpose.SELECT, number))
        island = self.state.islands[number % len(self.state.islands)]
        operator = self.state.credit.draw(rng)
        chosen = power_law(list(island), selection.exponent, 1 + selection.mates, rng)
        skills = self.state.skills.offer(selection.skills, rng)
        parent, mates = chosen[0], sorted(chosen[1:], key=lambda member: member.rank)
        request = Request(
            ticket=number,
            island=island.index,
            operator=operator,
            signature=self.problem.signature,
            parent=parent.relative(),
            others=tuple(mate.relative() for mate in mates),
            skills=skills,
            known=self.state.known.now(),
            seed=stream(self.settings.seed, Purpose.PROPOSE, number),
        )
        return _Ticket(number=number, request=request, values={member.name: member.values for member in chosen})

    async def _work(self, ticket: _Ticket) -> ProgramRecord:
        request = ticket.request
        try:
            proposal = await self.proposer.propose(request)
        except ProposalFailed as failure:
            evaluation = Evaluation(status=Status.NO_PROPOSAL, reason=str(failure))
            return self._record(ticket, None, Candidate(""), evaluation)
        candidate = read_candidate(proposal.source, request.signature)
        duplicate = self._duplicate(candidate, ticket.number)
        if duplicate is not None:
            return self._record(ticket, proposal, candidate, duplicate)
        start = ticket.values.get(proposal.parents[0], {}) if proposal.parents else {}
        evaluation = await self._tune(candidate, "ticket", ticket.number, start)
        return self._record(ticket, proposal, candidate, evaluation)

    def _duplicate(self, candidate: Candidate, number: int) -> Evaluation | None:
        """Refuse what is archived already, or what an earlier ticket in flight is being evaluated for."""
        if not candidate.fingerprint:
            return None
        first = self.state.known.name_of(candidate.fingerprint)
        if first is not None:
            return _same_as(first)
        earlier = self._in_flight.get(candidate.fingerprint)
        if earlier is not None and earlier < number:
            return _same_as(f"t{earlier}")
        self._in_flight[candidate.fingerprint] = number
        return None

    def _record(
        self, ticket: _Ticket, proposal: Proposal | None, candidate: Candidate, evaluation: Evaluation
    ) -> ProgramRecord:
        request = ticket.request
        return program_record(
            name=f"t{ticket.number}",
            role="ticket",
            number=ticket.number,
            island=request.island,
            operator=proposal.operator if proposal else request.operator,
            candidate=candidate,
            evaluation=evaluation,
            level=self.level,
            parents=_edges(proposal, request),
            proposer=self.proposer.name,
            note=proposal.note if proposal else "",
        )

    # -- commits

    def _commit(self, record: ProgramRecord) -> None:
        record = self._settled(record)
        self._in_flight.pop(record.fingerprint, None)
        self._worst_case = max(self._worst_case, record.evaluations)
        follows = self.state.apply(record)
        self.archive.commit(self.run_id, programs=[record], events=follows.events, skills=follows.skills)
        self._notify(record)

    def _settled(self, record: ProgramRecord) -> ProgramRecord:
        """A ticket that turned out to repeat an earlier one, committed while it was evaluated, counts as a duplicate.

        Whether its evaluation was still begun depends on timing; that it is a duplicate does not.
        """
        first = self.state.known.name_of(record.fingerprint) if record.fingerprint else None
        if record.role != "ticket" or first is None or record.status == Status.DUPLICATE or first == record.name:
            return record
        return as_duplicate(record, first)


def _same_as(name: str) -> Evaluation:
    return Evaluation(status=Status.DUPLICATE, reason=f"the same program as {name}")


def _edges(proposal: Proposal | None, request: Request) -> tuple[ParentEdge, ...]:
    if proposal is None:
        return (ParentEdge(name=request.parent.name, role="parent"),)
    roles = ["parent", *["mate"] * (len(proposal.parents) - 1)]
    parents = [ParentEdge(name=name, role=role) for name, role in zip(proposal.parents, roles, strict=True)]  # type: ignore[arg-type]
    return (*parents, *(ParentEdge(name=name, role="skill") for name in proposal.skills))
