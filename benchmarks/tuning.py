"""Tuners side by side: what they find with few parameter vectors, and what their own work costs.

Quality is measured on a lost-sales inventory (geometric demand of mean 5, lead time 3, holding cost 1, penalty 19) whose
long-run cost the benchmark computes exactly for any rule, from the Markov chain of its stock and pipeline. The optimum
is 22.0645; the best capped base-stock rule has 22.2915.

    OPENBLAS_NUM_THREADS=1 python benchmarks/tuning.py [--quick] [--part quality|work] [--only METHOD …]
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numba
import numpy as np
from numpy.typing import NDArray

from evolve.space import Categorical, Floats, Integer, Parameter, Real, Space
from evolve.tuning import METHODS, make_tuner

MEAN, HOLDING, PENALTY = 5.0, 1.0, 19.0
MOST_ORDERED, MOST_OWNED = 20, 60
"""Every rule orders at most 20 and never lifts stock and pipeline above 60 (the optimum needs 12 and 38): so the chain is
finite and nothing is cut off."""

BUDGETS = (50, 200, 1000)

# -- the exact cost of a rule


def _step_tables() -> tuple[Floats, Floats, Floats]:
    """Probabilities of a demand, of at least a demand, and the expected cost of a period by its stock."""
    stay = MEAN / (1.0 + MEAN)
    stock = np.arange(MOST_OWNED + 1)
    equal, at_least = (1 - stay) * stay**stock, stay**stock
    left = np.array([sum(equal[demand] * (x - demand) for demand in range(x + 1)) for x in stock])
    return equal, at_least, HOLDING * left + PENALTY * (MEAN - stock + left)


EQUAL, AT_LEAST, COST = _step_tables()


@numba.njit(cache=True)
def stationary(action: NDArray[np.int64], mass: Floats, tolerance: float) -> tuple[float, Floats]:
    """Average cost of a rule by power iteration, until it moves by less than `tolerance` over four periods.

    Args:
        action: the order for each state (due next period, due after it, stock after arrival).
        mass: where to start, a distribution over states.
        tolerance: in units of cost.

    Returns:
        The average cost and the distribution.
    """
    orders, owned = mass.shape[0], mass.shape[2]
    recent = np.full(4, np.inf)
    total = 0.0
    for period in range(5000):
        following = np.zeros_like(mass)
        total = 0.0
        for due in range(orders):
            for later in range(orders):
                for stock in range(owned - due - later):
                    share = mass[due, later, stock]
                    if share < 1e-11:
                        continue
                    total += share * COST[stock]
                    target = following[later, action[due, later, stock]]
                    target[due] += share * AT_LEAST[stock]
                    for left in range(1, stock + 1):
                        target[due + left] += share * EQUAL[stock - left]
        mass = following
        if np.abs(recent - total).max() < tolerance:
            break
        recent[period % 4] = total
    return total / mass.sum(), mass


DUE, LATER, STOCK = np.meshgrid(
    *(np.arange(most + 1.0) for most in (MOST_ORDERED, MOST_ORDERED, MOST_OWNED)), indexing="ij"
)
ROOM = np.clip(MOST_OWNED - DUE - LATER - STOCK, 0, MOST_ORDERED)


def orders(wanted: Floats) -> NDArray[np.int64]:
    """Whole orders nearest to what a rule wants, within the bounds that all rules share."""
    return np.minimum(np.floor(np.maximum(wanted, 0.0) + 0.5), ROOM).astype(np.int64)


class Exact:
    """Cost of a rule by its parameters; equal order tables are computed once."""

    def __init__(self, rule: Callable[[Floats], Floats]) -> None:
        self._rule = rule
        anywhere = np.zeros(DUE.shape)
        anywhere[5, 5, 10] = 1.0
        known = orders(np.minimum(8.0, 34.0 - STOCK - DUE - LATER))
        self._start = stationary(known, anywhere, 1e-9)[1]
        self._known: dict[int, float] = {}

    def __call__(self, theta: Floats) -> float:
        """Long-run average cost."""
        table = orders(self._rule(theta))
        key = hash(table.astype(np.int8).tobytes())
        if key not in self._known:
            self._known[key] = stationary(table, self._start, 2e-5)[0]
        return self._known[key]


# -- rules of 2, 6 and 12 parameters, and one on a mixed space


def capped(theta: Floats) -> Floats:
    """Capped base-stock: up to a level, at most a cap."""
    level, cap = theta
    return np.minimum(cap, level - STOCK - DUE - LATER)


def smooth(theta: Floats) -> Floats:
    """Close part of the gap to a level, with weights on the pipeline, and a cap."""
    level, base, slope, due, later, cap = theta
    gap = np.maximum(level - STOCK - due * DUE - later * LATER, 0.0)
    return np.minimum(np.minimum(gap, base + slope * gap), cap)


def two_regimes(theta: Floats) -> Floats:
    """`smooth` with one set of numbers below a stock threshold and another above it."""
    low, high, (threshold, cap) = theta[:5], theta[5:10], theta[10:]
    return np.where(threshold > STOCK, smooth(np.append(low, cap)), smooth(np.append(high, cap)))


def of_four_kinds(theta: Floats) -> Floats:
    """A choice of four ways to count the position and close the gap; whole level and cap, two weights, a log slope."""
    kind, level, cap, due, later, slope = theta
    position = STOCK + DUE + LATER
    if kind in {1, 3}:
        position = STOCK + due * DUE + later * LATER
    elif kind == 2:
        position = np.maximum(STOCK - MEAN * due, 0.0) + DUE + later * LATER
    gap = np.maximum(level - position, 0.0)
    return np.minimum(cap, slope * gap if kind == 3 else gap)


def _real(name: str, high: float, default: float) -> Parameter:
    return Parameter(name, Real(0, high), default)


def _regime(tag: str) -> list[Parameter]:
    names = (("level", 60, 20.0), ("base", 20, 5.0), ("slope", 1, 0.5), ("due", 1.5, 1.0), ("later", 1.5, 1.0))
    return [_real(name + tag, high, default) for name, high, default in names]


CAP = _real("cap", 20, 10.0)
KINDS = Categorical("position", "weighted", "projected", "smooth")
SPACES: dict[str, tuple[Space, Callable[[Floats], Floats]]] = {
    "2": (Space((_real("level", 60, 20.0), CAP)), capped),
    "6": (Space((*_regime(""), CAP)), smooth),
    "12": (Space((*_regime("_low"), *_regime("_high"), _real("threshold", 40, 10.0), CAP)), two_regimes),
    "mixed": (
        Space(
            (
                Parameter("kind", KINDS, "position"),
                Parameter("level", Integer(0, 60), 20),
                Parameter("cap", Integer(0, 20), 10),
                Parameter("weights", Real(0, 1.5, size=2), (1.0, 1.0)),
                Parameter("slope", Real(0.05, 1, log=True), 0.5),
            )
        ),
        of_four_kinds,
    ),
}

# -- searches: each calls the objective with batches of theta until its budget is spent


class BudgetSpent(Exception):  # noqa: N818 - ends a search
    """The objective was called as often as it may be."""


class Objective:
    """Scores batches of vectors, keeps the scores, and measures the search's own CPU time between its calls.

    Args:
        score: cost of one vector, shape *(width,)*.
        space: of the vectors.
        budget: vectors in all.
    """

    def __init__(self, score: Callable[[Floats], float], space: Space, budget: int) -> None:
        self._score, self.space, self.budget = score, space, budget
        self.scores: list[float] = []
        self.work, self._since = 0.0, time.process_time()

    def __call__(self, theta: Floats) -> Floats:
        """Scores of *(batch, width)* vectors."""
        self.work += time.process_time() - self._since
        left = self.budget - len(self.scores)
        scores = [self._score(row) for row in theta[:left]]
        self.scores += scores
        if len(theta) >= left:
            raise BudgetSpent
        self._since = time.process_time()
        return np.array(scores)

    def unit(self, unit: Floats) -> Floats:
        """Scores of vectors in unit coordinates."""
        return self(self.space.from_unit(np.asarray(unit)))


def ours(objective: Objective, start: Floats, seed: int, *, method: str, batch: int | None = None) -> None:
    """A tuner of the project; nevergrad's methods as well."""
    tuner = make_tuner(
        method,
        objective.space,
        groups=1,
        start=start[None],
        budget=objective.budget,
        batch=batch,
        seed=np.random.SeedSequence(seed),
    )
    while True:
        tuner.tell(objective(tuner.ask()[0])[None])


def pycma(objective: Objective, start: Floats, seed: int, *, batch: int | None = None) -> None:
    """The `cma` package; begun again anywhere when it stops."""
    import cma

    rng, center, width = np.random.default_rng(seed), objective.space.to_unit(start), objective.space.width
    options = {"bounds": [0, 1], "verbose": -9, **({"popsize": batch} if batch else {})}
    while True:
        search = cma.CMAEvolutionStrategy(center, 0.15, {**options, "seed": seed + len(objective.scores) + 1})
        while not search.stop():
            unit = search.ask()
            search.tell(unit, objective.unit(unit).tolist())
        center = rng.random(width)


def scipy_de(objective: Objective, start: Floats, seed: int, *, batch: int | None = None) -> None:
    """The differential evolution of scipy, vectorised, with a population of one batch."""
    from scipy.optimize import differential_evolution

    rng = np.random.default_rng(seed)
    first = rng.random((batch or 16, objective.space.width))
    first[0] = objective.space.to_unit(start)
    while True:  # it ends when all members have become one
        differential_evolution(
            lambda unit: objective.unit(unit.T),
            [(0, 1)] * objective.space.width,
            init=first,
            vectorized=True,
            updating="deferred",
            polish=False,
            maxiter=objective.budget,
            tol=0,
            rng=rng,
        )
        first = rng.random(first.shape)


def nelder_mead(objective: Objective, start: Floats, seed: int) -> None:
    """The Nelder–Mead of scipy; begun again near the best vector when it has converged. One vector at a time."""
    from scipy.optimize import minimize

    rng, center = np.random.default_rng(seed), objective.space.to_unit(start)
    options = {"xatol": 0.004, "fatol": 1e-4, "maxfev": objective.budget}
    best, lowest = center, np.inf
    while True:
        simplex = np.vstack([center, center + np.diag(np.where(center > 0.8, -0.15, 0.15))])
        found = minimize(
            lambda unit: objective.unit(unit[None])[0],
            center,
            method="Nelder-Mead",
            bounds=[(0, 1)] * len(center),
            options={**options, "initial_simplex": simplex},
        )
        if found.fun < lowest:
            best, lowest = found.x, found.fun
        center = np.clip(best + 0.2 * rng.standard_normal(len(best)), 0, 1)


Search = Callable[[Objective, Floats, int], None]
SEARCHES: dict[str, Search] = {
    "default": partial(ours, method="default"),
    "default, batch 64": partial(ours, method="default", batch=64),
    "surrogate": partial(ours, method="surrogate"),
    "cma": partial(ours, method="cma"),
    "de": partial(ours, method="de"),
    "random": partial(ours, method="random"),
    **{
        f"nevergrad:{name}": partial(ours, method=f"nevergrad:{name}")
        for name in ("NGOpt", "CMA", "DE", "TwoPointsDE", "DiscreteOnePlusOne")
    },
    "cma package": pycma,
    "scipy DE": scipy_de,
    "Nelder–Mead": nelder_mead,
}


def spent(search: Search, objective: Objective, start: Floats, seed: int) -> Objective:
    """The objective after a search has spent its budget on it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            search(objective, start, seed)
        except BudgetSpent:
            return objective
    raise RuntimeError("the search ended before its budget")


# -- the two parts


def best_costs(space_name: str, name: str, seeds: Sequence[int], budgets: Sequence[int]) -> list[float]:
    """Median over seeds of the best cost within each budget; every budget is a search of its own."""
    space, rule = SPACES[space_name]
    exact = Exact(rule)
    starts = [space.encode(space.defaults) if s % 2 == 0 else _anywhere(space, s) for s in seeds]
    medians = []
    for budget in budgets:
        runs = [
            spent(SEARCHES[name], Objective(exact, space, budget), start, s)
            for s, start in zip(seeds, starts, strict=True)
        ]
        medians.append(float(np.median([min(run.scores) for run in runs])))
    return medians


def _anywhere(space: Space, seed: int) -> Floats:
    return space.from_unit(np.random.default_rng(1000 + seed).uniform(0.1, 0.9, space.width))


def quality(names: Sequence[str], *, quick: bool) -> None:
    """Print the best exact cost after 50, 200 and 1,000 vectors."""
    seeds, budgets = (range(2), BUDGETS[:2]) if quick else (range(5), BUDGETS)
    print(
        f"Best exact cost after {' / '.join(map(str, budgets))} vectors, median of {len(seeds)} seeds (optimum 22.0645)\n"
    )
    print(f"{'':28}" + "".join(f"{name + ('-D' if name != 'mixed' else ''):>26}" for name in SPACES))
    stationary(orders(capped(np.array([34.0, 8.0]))), np.ones(DUE.shape) / DUE.size, 1.0)  # compile
    with ProcessPoolExecutor(2) as pool:
        rows = [(name, [pool.submit(best_costs, space, name, seeds, budgets) for space in SPACES]) for name in names]
        for name, cells in rows:
            shown = [" / ".join(f"{cost:.3f}" for cost in cell.result()) for cell in cells]
            print(f"{name:28}" + "".join(f"{cell:>26}" for cell in shown), flush=True)


def work(names: Sequence[str], *, quick: bool) -> None:
    """Print the CPU milliseconds of the search itself per vector, on a 6-D bowl."""
    repeats, vectors = (1, 320) if quick else (3, 640)
    print(f"\nCPU milliseconds per vector of the search itself, 6-D, {vectors} vectors per group, best of {repeats}\n")
    cases = [(groups, batch) for groups in (1, 32) for batch in (16, 64)]
    print(f"{'':28}" + "".join(f"{f'{groups} × {batch}':>12}" for groups, batch in cases))
    for name in names:
        measure = partial(_grouped if name in METHODS else _in_turn, name)
        measure(1, 16, 64)  # imports
        shown = [min(measure(groups, batch, vectors) for _ in range(repeats)) for groups, batch in cases]
        print(f"{name:28}" + "".join(f"{ms:12.4f}" for ms in shown), flush=True)


BOWL = Space((Parameter("x", Real(0, 1, size=6), (0.9,) * 6),))
GOALS = np.random.default_rng(0).uniform(0.2, 0.8, (32, 6))


def _grouped(name: str, groups: int, batch: int, vectors: int) -> float:
    """CPU milliseconds per vector of one tuner for all groups."""
    starts, work = np.tile(BOWL.encode(BOWL.defaults), (groups, 1)), 0.0
    began = time.process_time()
    tuner = make_tuner(
        name, BOWL, groups=groups, start=starts, budget=vectors, batch=batch, seed=np.random.SeedSequence(0)
    )
    while tuner.left:
        theta = tuner.ask()
        work += time.process_time() - began
        scores = ((theta - GOALS[:groups, None]) ** 2).sum(axis=2)
        began = time.process_time()
        tuner.tell(scores)
    return 1e3 * (work + time.process_time() - began) / (groups * vectors)


def _in_turn(name: str, groups: int, batch: int, vectors: int) -> float:
    """The same for a search that knows no groups: one after the other, a few of them standing for 32."""
    search, few, work = partial(SEARCHES[name], batch=batch), min(groups, 4), 0.0
    for group in range(few):
        objective = Objective(partial(_bowl, GOALS[group]), BOWL, vectors)
        work += spent(search, objective, BOWL.encode(BOWL.defaults), group).work
    return 1e3 * work / (few * vectors)


def _bowl(goal: Floats, theta: Floats) -> float:
    return float(((theta - goal) ** 2).sum())


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seeds and small budgets: about a minute")
    parser.add_argument("--part", choices=("quality", "work"), help="only this part")
    parser.add_argument("--only", nargs="+", choices=tuple(SEARCHES), metavar="METHOD", help="only these searches")
    chosen = parser.parse_args()
    names = chosen.only or tuple(SEARCHES)
    if chosen.part != "work":
        quality(names, quick=chosen.quick)
    if chosen.part != "quality":
        work([name for name in names if name not in {"Nelder–Mead", "default, batch 64"}], quick=chosen.quick)


if __name__ == "__main__":
    main()
