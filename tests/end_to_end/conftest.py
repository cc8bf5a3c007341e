import pytest
from command_line import run_command


@pytest.fixture
def evolve(tmp_path):
    """Run `evolve ARGUMENTS` in an empty folder; returns the finished process."""

    def run(*arguments, **options):
        return run_command(tmp_path, *arguments, **options)

    return run
