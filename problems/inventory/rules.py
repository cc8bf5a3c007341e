"""Reference rules and start programs, written in the language of programs.

Quantities are multiples of mean demand, so one text fits items and cells of any size. Where every item or cell has its
own parameters (`own`), a stock level is one number; where all share one vector, it also has a part that grows with the
spread of demand, as in the textbook formula, and across cells of different shortage cost with that.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Style:
    """For which kind of run the rules are written.

    Args:
        positional: the arguments of the entry function.
        own: each item or cell has its own parameters.
        varied: shortage cost differs between instances.
        lost: unmet demand is lost.
        fixed: an order costs something, whatever its size.
        review_period: periods from one decision to the next.
        history: periods of recent demand among the arguments; 0 if neither they nor the calendar are.
        spacious: demand is lumpy, so that levels and caps may have to be many times the mean.
        cover: the stock level that tuning starts from, in demands of lead time and one period.
    """

    positional: tuple[str, ...]
    own: bool
    varied: bool
    lost: bool
    fixed: bool
    review_period: int
    history: int
    spacious: bool
    cover: float


def baselines(style: Style) -> dict[str, str]:
    """Reference rules: source by name."""
    rules = {
        "base_stock": _base_stock(style),
        "s_S": _s_s(style),
        "constant_order": _constant_order(style),
        "capped_base_stock": _capped_base_stock(style),
    }
    if style.lost:  # with backorders it is base-stock
        rules["projected_inventory_level"] = _projected_inventory_level(style)
    if style.history:
        rules["forecast_base_stock"] = _forecast_base_stock(style)
        if style.fixed:
            rules["forecast_s_S"] = _forecast_s_s(style)
    return rules


def seeds(style: Style) -> Mapping[str, str]:
    """Programs the search starts from: source by name; simple rules that leave room."""
    rules = {
        "base_stock": _base_stock(style),
        "capped_base_stock": _capped_base_stock(style),
        "damped_base_stock": _damped_base_stock(style),
    }
    if style.fixed:
        rules["s_S"] = _s_s(style)
    if style.history:
        rules["forecast_base_stock"] = _forecast_base_stock(style)
        if style.fixed:
            rules["forecast_s_S"] = _forecast_s_s(style)
    return rules


def _order(style: Style, parameters: list[str], text: str, body: str) -> str:
    """The source of one rule; `parameters` and the lines of `body` come without indentation."""
    listed = ",\n".join(f"    {entry}" for entry in (", ".join(style.positional), "*", *parameters))
    lines = "\n".join(f"    {line}" if line else "" for line in body.strip().splitlines())
    return f'def order(\n{listed},\n):\n    """{text}"""\n{lines}\n'


def _level(style: Style, mean: str = "mean", spread: str = "spread") -> str:
    """The stock level: demand over the lead time and one period, and a margin for its spread."""
    level = f"cover * {mean} * (lead_time + 1)"
    if not style.own:
        level += f" + safety * {spread} * math.sqrt(lead_time + 1)"
        if style.varied:
            level += " * math.log(1 + shortage)"
    return level


def _level_parameters(style: Style) -> list[str]:
    parameters = [f"cover: Real(0, {10 if style.spacious else 4}) = {style.cover}"]
    if not style.own:
        parameters.append("safety: Real(-1, 2) = 0.3" if style.varied else "safety: Real(-1, 6) = 1.0")
    return parameters


def _cap(style: Style) -> str:
    return "cap: Real(0, 25) = 5.0" if style.spacious else "cap: Real(0, 5) = 1.4"


def _base_stock(style: Style) -> str:
    return _order(
        style,
        _level_parameters(style),
        "Order up to a level.",
        f"""
level = {_level(style)}
return max(0.0, level - on_hand - pipeline.sum())
""",
    )


def _s_s(style: Style) -> str:
    return _order(
        style,
        [*_level_parameters(style), "lot: Real(0, 15) = 1.0"],
        "When stock and pipeline fall to the reorder point s, order up to S = s + lot.",
        f"""
reorder_point = {_level(style)}
position = on_hand + pipeline.sum()
if position > reorder_point:
    return 0.0
return reorder_point + lot * mean - position
""",
    )


def _constant_order(style: Style) -> str:
    if not style.history:
        return _order(style, ["rate: Real(0, 1.2) = 0.9"], "Order the same every time.", "return rate * mean")
    return _order(
        style,
        ["rate: Real(0, 1.2) = 0.9"],
        "Order at a constant rate, in whole units: what is due by today and was not at the last review.",
        f"return np.floor(rate * mean * day_of_year) - np.floor(rate * mean * (day_of_year - {style.review_period}))",
    )


def _capped_base_stock(style: Style) -> str:
    return _order(
        style,
        [*_level_parameters(style), _cap(style)],
        "Order up to a level, but never more than a cap at once.",
        f"""
level = {_level(style)}
return min(cap * mean, max(0.0, level - on_hand - pipeline.sum()))
""",
    )


def _damped_base_stock(style: Style) -> str:
    return _order(
        style,
        [*_level_parameters(style), "share: Real(0, 1) = 0.7"],
        "Close only a share of the gap to the level at once.",
        f"""
level = {_level(style)}
return share * max(0.0, level - on_hand - pipeline.sum())
""",
    )


def _projected_inventory_level(style: Style) -> str:
    level = "target * mean" if style.own else "target * mean + safety * spread"
    target = "target: Real(0, 60) = 4.0" if style.spacious else "target: Real(0, 8) = 2.0"
    parameters = [target] if style.own else [target, "safety: Real(-1, 12) = 1.0"]
    if style.varied and not style.own:
        level += " * math.log(1 + shortage)"
    return _order(
        style,
        parameters,
        "Order so that the stock expected when this order arrives reaches a target (van Jaarsveld and Arts).",
        f"""
stock = on_hand
variance = 0.0
for arriving in pipeline[:lead_time]:
    rest = stock - mean
    variance = variance + spread * spread
    deviation = math.sqrt(variance) + 1e-9
    z = rest / deviation
    below = 0.5 * (1.0 + math.erf(z / 1.4142135623730951))
    density = 0.3989422804014327 * math.exp(-0.5 * z * z)
    kept = rest * below + deviation * density
    variance = max(0.0, (rest * rest + variance) * below + rest * deviation * density - kept * kept)
    stock = kept + arriving
return max(0.0, {level} - stock)
""",
    )


_FORECAST = """
latest = recent[-days:]
forecast = weight * latest.mean() + (1.0 - weight) * mean
error = weight * latest.std() + (1.0 - weight) * spread
"""


def _forecast_parameters(style: Style) -> list[str]:
    days = f"days: Integer(1, {style.history}) = {min(14, style.history)}"
    return [days, "weight: Real(0, 1) = 0.5", *_level_parameters(style)]


def _forecast_base_stock(style: Style) -> str:
    return _order(
        style,
        _forecast_parameters(style),
        "Order up to a level that follows a forecast: recent demand blended with the long-run mean and spread.",
        f"""{_FORECAST}level = {_level(style, "forecast", "error")}
return max(0.0, level - on_hand - pipeline.sum())
""",
    )


def _forecast_s_s(style: Style) -> str:
    return _order(
        style,
        [*_forecast_parameters(style), "lot: Real(0, 15) = 1.0"],
        "When stock and pipeline fall to a reorder point that follows a forecast, order up to that and a lot.",
        f"""{_FORECAST}reorder_point = {_level(style, "forecast", "error")}
position = on_hand + pipeline.sum()
if position > reorder_point:
    return 0.0
return reorder_point + lot * forecast - position
""",
    )
