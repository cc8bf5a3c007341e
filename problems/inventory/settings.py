"""What a user may set about the inventory problem."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from evolve.problem import ProblemSettings

Bed = Literal["zipkin", "long_lead"]
Period = Literal["day", "week", "month"]

FIXED_BY_A_BED = (
    "data",
    "date_order",
    "period",
    "lead_time",
    "review_period",
    "holding",
    "shortage",
    "fixed_cost",
    "unmet",
    "whole_units",
    "history",
    "validation_from",
    "holdout_from",
    "window",
)
"""Settings that make no sense beside `bed`."""


def _read_cut(value: Any) -> Any:
    """A share of the periods (0.6) or a date (2011-07-15), also from text."""
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            pass
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = -1.0
    if not 0.0 < share < 1.0:
        raise ValueError(f"write a share of the periods such as 0.6, or a date such as 2011-07-15, not {value!r}")
    return share


Cut = Annotated[float | date, BeforeValidator(_read_cut)]


class InventorySettings(ProblemSettings):
    """Settings of the inventory problem: `--set key=value`, or the `[set]` table of a settings file."""

    data: Path | None = Field(
        default=None, description="CSV file with columns date, item, units; none: the bundled demand"
    )
    bed: Bed | None = Field(
        default=None, description="a bed of generated demand with published figures, instead of data"
    )

    date_order: Literal["auto", "day_first", "month_first"] = Field(
        default="auto", description="how to read dates such as 03/04/2024 where the file leaves it open"
    )
    period: Period = Field(default="day", description="one period: demand is summed, and lead times count, in these")

    lead_time: int = Field(default=7, ge=0, le=60, description="periods from an order to its arrival")
    review_period: int = Field(default=1, ge=1, le=60, description="periods from one decision to the next")
    holding: float = Field(default=1.0, gt=0, description="cost of one unit left at the end of a period")
    shortage: float = Field(
        default=100.0, ge=0, description="cost of one unit lost; with backorders, of one unit owed for one period"
    )
    fixed_cost: float = Field(default=100.0, ge=0, description="cost of one order, whatever its size")
    unmet: Literal["lost", "backorder"] = Field(
        default="lost", description="what becomes of demand that stock cannot meet"
    )
    whole_units: bool = Field(default=True, description="round orders to whole units; false for weights and volumes")

    history: int | None = Field(
        default=None,
        ge=2,
        le=400,
        description="periods of recent demand that a rule sees; none: 28 days, 13 weeks or 12 months",
    )
    warm_up: int | None = Field(
        default=None,
        ge=0,
        le=1000,
        description="periods simulated before costs count; none: twice the lead time and review period, but at least "
        "28 days, 8 weeks or 3 months; on a bed 100",
    )
    validation_from: Cut = Field(default=0.5, description="where validation begins: a share of the periods, or a date")
    holdout_from: Cut = Field(default=0.8, description="where holdout begins: a share of the periods, or a date")
    window: int | None = Field(
        default=None, ge=1, description="scored periods per instance; none: one instance per item, as long as its split"
    )

    tune_per_group: bool | None = Field(
        default=None,
        description="own parameters for each item or cell; none: on a bed yes, on data one vector for all items",
    )
    paths: int = Field(default=8, ge=1, le=10_000, description="demand paths per cell of a bed")
    periods: int = Field(
        default=500,
        ge=10,
        le=1_000_000,
        description="scored periods of one path of a bed on train; five times as many otherwise",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        # what was given at its default is no clash: a run's stored settings name every key
        changed = [name for name, entry in type(self).model_fields.items() if getattr(self, name) != entry.default]
        if self.bed is not None:
            clash = [name for name in FIXED_BY_A_BED if name in changed]
            if clash:
                raise ValueError(f"bed={self.bed} fixes {', '.join(clash)}: leave it out, or leave bed out")
        else:
            stray = [name for name in ("paths", "periods") if name in changed]
            if stray:
                raise ValueError(
                    f"{', '.join(stray)} belongs to a bed: add bed=zipkin or bed=long_lead, or leave it out"
                )
        first, second = self.validation_from, self.holdout_from
        if type(first) is type(second) and not first < second:  # type: ignore[operator]
            raise ValueError(f"validation_from={first} must lie before holdout_from={second}")
        return self

    @property
    def recent(self) -> int:
        """Periods of recent demand that a rule sees."""
        return self.history or {"day": 28, "week": 13, "month": 12}[self.period]

    @property
    def order_cost(self) -> float:
        """Cost of one order; a bed has none."""
        return self.fixed_cost if self.bed is None else 0.0

    @property
    def burn_in(self) -> int:
        """Periods simulated before costs count."""
        if self.warm_up is not None:
            return self.warm_up
        if self.bed is not None:
            return 100
        return max(2 * (self.lead_time + self.review_period), {"day": 28, "week": 8, "month": 3}[self.period])
