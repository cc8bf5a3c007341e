"""What leaves has been scored again, and what was found out does not leave unasked."""

import pytest
from command_line import FORMS

from archive import Archive, EventRecord
from evolve.errors import ExportError
from evolve.export.function import export_function
from evolve.export.recheck import SEED_STEP, fresh_score
from evolve.session import Session
from evolve.settings import RunSettings


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "a.db"
    settings = RunSettings(problem=f"{FORMS}:Blocks", tickets=3, seed=4, tuning={"vectors": 16, "racing": False})
    with Archive.open(path) as archive:
        run = Session(archive=archive, jobs=1).start(settings).run.id
        yield archive, archive.run(run)


def test_it_is_scored_on_instances_of_another_seed(finished):
    archive, run = finished
    record = archive.program(run.id, "s0")
    seed, score = fresh_score(run, record, weak_sandbox=False)
    assert seed == 4 + SEED_STEP
    assert score != record.validation_score
    assert score == pytest.approx(record.validation_score, rel=1.0)


def test_the_module_tells_how_it_was_made(finished, tmp_path):
    archive, run = finished
    module, test = export_function(archive, run, archive.program(run.id, "s0"), tmp_path, force=False)
    text = module.read_text(encoding="utf-8")
    assert f"on validation with seed {4 + SEED_STEP}" in text
    assert "--seed 4 --tickets 3" in text
    assert "tuning.vectors = 16, tuning.racing = False" in text
    assert test.name == f"test_{module.name}"


def test_a_marked_program_leaves_only_by_force(finished, tmp_path):
    archive, run = finished
    marked = EventRecord(kind="finalists", key="marked", data={"finalists": ["s0"], "marked": {"s0": "it cheats"}})
    archive.commit(run.id, events=[marked])
    record = archive.program(run.id, "s0")
    with pytest.raises(ExportError, match="not to be trusted: it cheats; --force"):
        export_function(archive, run, record, tmp_path, force=False)
    assert list(tmp_path.iterdir()) == []
    assert len(export_function(archive, run, record, tmp_path, force=True)) == 2
