from datetime import date

import pytest
from pydantic import ValidationError

from problems.inventory import InventorySettings


def test_defaults_make_the_demo() -> None:
    settings = InventorySettings()
    assert (settings.lead_time, settings.review_period, settings.unmet) == (7, 1, "lost")
    assert (settings.recent, settings.burn_in) == (28, 28)


def test_texts_from_the_command_line_are_read() -> None:
    settings = InventorySettings.model_validate(
        {"lead_time": "3", "validation_from": "0.5", "holdout_from": "2024-03-01", "whole_units": "false"}
    )
    assert settings.lead_time == 3
    assert settings.validation_from == 0.5
    assert settings.holdout_from == date(2024, 3, 1)
    assert settings.whole_units is False


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"leadtime": 3}, "leadtime"),
        ({"bed": "zipkin", "lead_time": 3}, "bed=zipkin fixes lead_time"),
        ({"bed": "zipkin", "data": "x.csv"}, "bed=zipkin fixes data"),
        ({"paths": 3}, "paths belongs to a bed"),
        ({"validation_from": 0.8, "holdout_from": 0.6}, "must lie before"),
        ({"validation_from": "2024-05-01", "holdout_from": "2024-04-01"}, "must lie before"),
        ({"holdout_from": "soon"}, "a share of the periods such as 0.6, or a date such as 2011-07-15, not 'soon'"),
        ({"holdout_from": 1.5}, "a share of the periods"),
        ({"holding": 0}, "greater than 0"),
        ({"shortage": -1}, "greater than or equal to 0"),
        ({"unmet": "forgotten"}, "'lost' or 'backorder'"),
        ({"history": 1}, "greater than or equal to 2"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        InventorySettings.model_validate(values)


def test_warm_up_and_history_follow_the_period() -> None:
    assert InventorySettings(period="month", lead_time=1).burn_in == 4
    assert InventorySettings(period="month", lead_time=1).recent == 12
    assert InventorySettings(lead_time=30).burn_in == 62
    assert InventorySettings(bed="long_lead").burn_in == 100
    assert InventorySettings(warm_up=0).burn_in == 0


@pytest.mark.parametrize("values", [{"bed": "zipkin", "paths": 3}, {"holdout_from": "2024-03-01", "data": "x.csv"}])
def test_stored_settings_are_read_back(values: dict[str, object]) -> None:
    settings = InventorySettings.model_validate(values)
    assert InventorySettings.model_validate(settings.model_dump()) == settings
    assert InventorySettings.model_validate_json(settings.model_dump_json()) == settings
