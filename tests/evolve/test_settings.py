import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import SettingsError
from evolve.settings import RunSettings, load_toml, parse_assignment, validate


def test_defaults_need_only_a_problem():
    settings = validate(RunSettings, {"problem": "inventory"}, "run settings")
    assert (settings.tickets, settings.islands.count, settings.window) == (300, 4, 8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"problem": "p", "ticket": 3}, "unknown setting 'ticket'; did you mean 'tickets'?"),
        ({"problem": "p", "islands": {"cuont": 3}}, "unknown setting 'islands.cuont'; did you mean 'count'?"),
        ({"problem": "p", "zzz": 3}, "unknown setting 'zzz'; known: budget_evaluations, compile"),
        ({}, "setting 'problem' is missing"),
        ({"problem": "p", "tickets": -1}, "tickets = -1: input should be greater than or equal to 0"),
        (
            {"problem": "p", "islands": {"topology": "rings"}},
            "islands.topology = 'rings': input should be 'ring' or 'full'",
        ),
        ({"problem": "p", "seed": 2**63}, "seed = 9223372036854775808: input should be less than"),
    ],
)
def test_a_fault_names_the_key_and_what_is_allowed(values, message):
    with pytest.raises(SettingsError) as caught:
        validate(RunSettings, values, "run settings")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_faults_are_counted():
    with pytest.raises(SettingsError, match=r"\(and 1 more\)"):
        validate(RunSettings, {"problem": "p", "tickets": -1, "seed": -1}, "run settings")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lead_time=4", ("lead_time", 4)),
        ("holding=1.5", ("holding", 1.5)),
        ("whole_units=false", ("whole_units", False)),
        ("bed=zipkin", ("bed", "zipkin")),
        ("data=my file.csv", ("data", "my file.csv")),
        ("cut=2011-07-15x", ("cut", "2011-07-15x")),
        ("name=a=b", ("name", "a=b")),
        ("empty=", ("empty", "")),
        ("list=[1, 2]", ("list", [1, 2])),
    ],
)
def test_assignments(text, expected):
    assert parse_assignment(text) == expected


@pytest.mark.parametrize("text", ["lead_time", "=4", ""])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(SettingsError, match="write key=value"):
        parse_assignment(text)


@given(st.text())
def test_any_text_is_an_assignment_or_a_settings_error(text):
    try:
        key, _ = parse_assignment(text)
    except SettingsError:
        return
    assert key == text.partition("=")[0].strip()


def test_files(tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('problem = "inventory"\n[islands]\ncount = 2\n')
    bad.write_text("problem = \n")
    assert load_toml(good) == {"problem": "inventory", "islands": {"count": 2}}
    with pytest.raises(SettingsError, match=r"bad\.toml: not valid TOML: .*line 1"):
        load_toml(bad)
    with pytest.raises(SettingsError, match="no such settings file"):
        load_toml(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_toml(tmp_path)
