"""Evaluation: trusted worker processes run the problem's code and hold one locked child per candidate.

The main process only directs: it sends tasks (`tasks`) to a pool of workers (`pool`), each of which (`worker`) evaluates a
program (`evaluator`) by running blocks of rows (`rows`) through one of the three forms of the contract (`forms`).
"""
