"""Reading stays fast in archives of a million programs: every query finds its rows by an index."""

import pytest
from sqlalchemy import event

from archive import Archive, ParentEdge, ProgramRecord


@pytest.fixture
def plans(tmp_path):
    """An archive of two runs, and the query plans of all it reads from now on."""
    with Archive.open(tmp_path / "evolve.db") as archive:
        for _ in range(2):
            run = archive.create_run(problem="big", seed=0, direction="minimize")
            archive.commit(
                run.id,
                [
                    ProgramRecord(
                        name=f"t{number}",
                        role="ticket",
                        number=number,
                        train_score=float(number % 17),
                        parents=(ParentEdge(f"t{number // 2}"),) if number else (),
                    )
                    for number in range(300)
                ],
            )
        with archive._write() as connection:
            connection.exec_driver_sql("ANALYZE")
        seen: list[str] = []

        def explain(connection, _cursor, statement, parameters, *_):
            if statement.startswith(("SELECT", "WITH")):
                plan = connection.connection.driver_connection.execute("EXPLAIN QUERY PLAN " + statement, parameters)
                seen.extend(row[3] for row in plan)

        event.listen(archive._reader, "before_cursor_execute", explain)
        yield archive, seen


@pytest.mark.parametrize(
    "read",
    [
        lambda archive: list(archive.programs("big-2")),
        lambda archive: list(archive.programs("big-2", after="t200", outcomes=True)),
        lambda archive: archive.program("big-2", "t7"),
        lambda archive: archive.best("big-2", n=5),
        lambda archive: archive.best("big-2", "validation"),
        lambda archive: archive.tally("big-2"),
        lambda archive: archive.outcomes("big-2", "t7"),
        lambda archive: list(archive.events("big-2", "migration")),
        lambda archive: archive.parents("big-2", "t7"),
        lambda archive: archive.children("big-2", "t7"),
        lambda archive: archive.ancestors("big-2", "t299"),
        lambda archive: archive.claimant("big-2"),
    ],
)
def test_no_table_is_scanned(plans, read):
    archive, seen = plans
    read(archive)
    assert seen
    scans = [step for step in seen if step.startswith("SCAN") and not step.startswith(("SCAN line", "SCAN anon"))]
    assert scans == []


@pytest.mark.parametrize(
    "read", [lambda archive: list(archive.programs("big-2")), lambda archive: archive.best("big-2", n=5)]
)
def test_nothing_is_sorted_that_an_index_holds_in_order(plans, read):
    archive, seen = plans
    read(archive)
    assert not [step for step in seen if "USE TEMP B-TREE FOR ORDER BY" in step]


def test_counts_touch_no_program_text(plans):
    archive, seen = plans
    assert archive.tally("big-2") == {"ok": 300}
    assert any("COVERING INDEX" in step for step in seen)
