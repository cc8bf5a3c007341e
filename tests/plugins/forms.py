"""One small problem in each of the three forms: track a random walk with a step per period.

`x` is the walk, `gap` how far behind we are; the score is the mean squared gap and half
the squared step, smaller is better.
"""

from dataclasses import dataclass

import numpy as np

from evolve.problem import (
    Action,
    Argument,
    Instance,
    Outcome,
    Outcomes,
    Per,
    Problem,
    ProblemSettings,
    Signature,
    observe,
)

PERIODS = 20
EFFORT = 0.5


@dataclass(frozen=True)
class Walk(Instance):
    steps: tuple[float, ...] = ()


class Settings(ProblemSettings):
    memory: int = 0
    grouped: bool = False
    fail: str = ""


class Track(Problem):
    """Follow a random walk."""

    Settings = Settings

    @property
    def signature(self):
        return Signature(
            entry="step",
            arguments=(
                Argument(name="gap", meaning="distance to the walk", low=-5, high=5),
                Argument(name="last", meaning="the walk's last step", low=-2, high=2, per=Per.INSTANCE),
                Argument(name="period", meaning="which period", dtype="int", per=Per.BLOCK, high=PERIODS),
            ),
            action=Action(meaning="how far to go", low=-50.0, high=50.0, clip=True),
            memory=self.settings.memory,
        )

    def seeds(self):
        names = ", ".join(self.signature.positional)
        answer = "(gain * gap, memory)" if self.settings.memory else "gain * gap"
        return {"proportional": f"def step({names}, *, gain: Real(0, 2) = 0.3):\n    return {answer}\n"}

    def baselines(self):
        return {"half": self.seeds()["proportional"].replace("0.3", "0.5")}

    def instances(self, split, seed):
        rng = np.random.default_rng([seed, len(split)])
        return [
            Walk(key=f"{split}-{number}", group=group, steps=tuple(rng.normal(size=PERIODS).tolist()))
            for number, group in enumerate(["a", "b"] * 3 if self.settings.grouped else [""] * 6)
        ]

    @property
    def decisions(self):
        return PERIODS

    def check(self, instance):
        if self.settings.fail == "raise":
            raise KeyError("the simulator is broken")
        if self.settings.fail == "print":
            print("hello from", instance.key)
        if self.settings.fail == "exit":
            import os

            print("going down", flush=True)
            os._exit(7)
        if self.settings.fail == "hang":
            import time

            time.sleep(60)


class Episodes(Track):
    name = "episodes"

    def episode(self, instance):
        self.check(instance)
        gap = total = last = 0.0
        for period, step in enumerate(instance.steps):
            gap += step
            last = step
            asked = observe(gap=gap, last=last, period=period)
            action = yield {"yield": gap, "names": observe(gap=gap)}.get(self.settings.fail, asked)
            gap -= action
            total += gap * gap + EFFORT * action * action
        return Outcome(score=total / PERIODS, metrics={"final": gap})


class Blocks(Track):
    name = "blocks"

    def evaluate(self, policy, instances):
        self.check(instances)
        steps = np.array([instance.steps for instance in instances])
        gap, total = np.zeros(policy.rows), np.zeros(policy.rows)
        for period in range(PERIODS):
            gap += steps[policy.instance, period]
            action = policy(gap=gap, last=steps[:, period], period=period)
            gap -= action
            total += gap * gap + EFFORT * action * action
        score = total / PERIODS
        if self.settings.fail == "nan":
            score[0] = np.nan
        if self.settings.fail == "shape":
            score = score[:1]
        return Outcomes(score=score, metrics={"final": gap})


class Calls(Track):
    name = "calls"

    def evaluate_one(self, policy, instance):
        self.check(instance)
        gap = total = 0.0
        for period, step in enumerate(instance.steps):
            gap += step
            action = float(policy(gap=gap, last=step, period=period))
            gap -= action
            total += gap * gap + EFFORT * action * action
        return Outcome(score=total / PERIODS, metrics={"final": gap})
