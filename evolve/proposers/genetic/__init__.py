"""The embedded genetic proposer."""

from evolve.proposers.genetic.fresh import from_scratch
from evolve.proposers.genetic.proposer import Genetic, breed
from evolve.proposers.genetic.skills import extract_skills

__all__ = ["Genetic", "breed", "extract_skills", "from_scratch"]
