"""Evolve readable, tuned and tested decision rules: an island search over sandboxed Python programs."""
