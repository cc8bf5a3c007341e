import sys

import pytest
from command_line import FORMS

from evolve.errors import ProblemError, SettingsError
from evolve.registry import available, find_problem, load_problem

ONE = """
from evolve import Action, Argument, Instance, Outcome, Problem, Signature

class {name}(Problem):
    '''One.'''
    name = "one"
    @property
    def signature(self):
        return Signature(entry="rule", arguments=(Argument(name="x", meaning="x"),), action=Action(meaning="y"))
    def seeds(self):
        return {{"s": "def rule(x):\\n    return x"}}
    def instances(self, split, seed):
        return [Instance(key=split)]
    def evaluate_one(self, policy, instance):
        return Outcome(score=0.0)
"""


def test_bundled_problems_are_installed():
    assert "inventory" in available()
    assert find_problem("inventory").name == "inventory"


def test_by_path(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(ONE.format(name="One"))
    assert load_problem(str(path), {}).signature.entry == "rule"
    assert find_problem(f"{path}:One").__name__ == "One"


def test_two_files_of_one_name_are_two_problems(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "problem.py").write_text(ONE.format(name=f"Problem{folder.upper()}"))
    names = [find_problem(str(tmp_path / folder / "problem.py")).__name__ for folder in ("a", "b")]
    assert names == ["ProblemA", "ProblemB"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines no complete Problem class"),
        ("def (\n", "cannot be loaded: SyntaxError"),
        ("import nothing_of_this_name\n", "cannot be loaded: ModuleNotFoundError"),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError"),
        ("from evolve import Problem\nclass Half(Problem):\n    name = 'half'\n", "defines no complete Problem class"),
        (ONE.format(name="A") + ONE.format(name="B"), "defines several problems (A, B): choose one as"),
    ],
)
def test_files_that_hold_no_problem(tmp_path, text, message):
    path = tmp_path / "plugin.py"
    path.write_text(text)
    with pytest.raises(ProblemError) as caught:
        find_problem(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path):
    with pytest.raises(ProblemError, match="did you mean 'inventory'"):
        find_problem("inventry")
    with pytest.raises(ProblemError, match="no such file"):
        find_problem(str(tmp_path / "none.py"))
    with pytest.raises(ProblemError, match="no problem class 'Nothing'; it has: Episodes, Blocks, Calls"):
        find_problem(f"{FORMS}:Nothing")


def test_settings_of_a_problem_are_checked():
    with pytest.raises(SettingsError, match=r"problem inventory: unknown setting 'lead_tme'; did you mean 'lead_time'"):
        load_problem("inventory", {"lead_tme": 3})


def test_a_plugin_imports_the_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_it.py").write_text("NAME = 'from the file beside it'\n")
    (tmp_path / "numpy.py").write_text("raise RuntimeError('this hides numpy')\n")
    plugin = tmp_path / "with_helper.py"
    plugin.write_text(f"from beside_it import NAME\nimport numpy\n{FORMS.read_text()}\nBlocks.name = NAME\n")
    assert load_problem(f"{plugin}:Blocks", {}).name == "from the file beside it"
