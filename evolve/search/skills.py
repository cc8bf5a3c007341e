"""Skills of a run: which snippets were admitted, who used them, and what they gained."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evolve.proposers.base import Skill

KEEP = 60
"""Most skills that are offered; the least useful of the oldest are forgotten first."""


@dataclass(slots=True)
class SkillBook:
    """Skills in order of admission, each with its record.

    Credit is the mean of what programs that took the skill in gained over their parents, drawn towards what the skill's
    first program gained while there are few uses.
    """

    _skills: dict[str, Skill] = field(default_factory=dict)
    _codes: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._skills)

    def admit(self, skill: Skill) -> bool:
        """Take a skill in, unless the same code is there already."""
        if skill.code in self._codes:
            return False
        if len(self._skills) >= KEEP:
            weakest = min(self._skills.values(), key=lambda known: (known.gain, known.uses))
            del self._skills[weakest.name]
        self._codes.add(skill.code)
        self._skills[skill.name] = skill
        return True

    def credit(self, name: str, gain: float) -> None:
        """Record what a program gained that took the skill in."""
        if name in self._skills:
            skill = self._skills[name]
            mean = (skill.gain * (skill.uses + 1) + gain) / (skill.uses + 2)
            self._skills[name] = replace(skill, gain=mean, uses=skill.uses + 1)

    def get(self, name: str) -> Skill | None:
        """A skill by name, unless it is forgotten."""
        return self._skills.get(name)

    def offer(self, count: int, rng: np.random.Generator) -> Sequence[Skill]:
        """Draw up to `count` skills, those of larger gain more often, best first."""
        ranked = sorted(self._skills.values(), key=lambda skill: (-skill.gain, skill.name))
        count = min(count, len(ranked))
        if count == 0:
            return ()
        weight = 1.0 / np.arange(1, len(ranked) + 1)
        drawn = rng.choice(len(ranked), size=count, replace=False, p=weight / weight.sum())
        return tuple(ranked[index] for index in sorted(drawn))
