"""Parameter vectors tuned per second on the inventory problem, 64 paths × 100 periods: a whole evaluation, nothing left out.

    python benchmarks/vectors.py [--vectors N]

Start of the locked process, compilation, the tuner's own work, the simulator and the scores on train and validation are
all in the time. Compiled and plain, in blocks as the evaluator chooses them (the tuner learns between blocks) and in larger
ones.
"""

import argparse

from evolve.evaluation.evaluator import Evaluator
from evolve.evaluation.tasks import Setup, Status, TuneTask
from evolve.settings import LimitSettings, TuningSettings

VALUES = {"bed": "zipkin", "paths": 2, "periods": 80, "warm_up": 20, "tune_per_group": False}
"""32 cells × 2 paths; 20 periods pass before costs count."""


def main() -> None:
    """Print one line per way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=4096)
    options = parser.parse_args()
    for compile_programs in (True, False):
        setup = Setup(
            problem="inventory",
            values=VALUES,
            seed=0,
            limits=LimitSettings(cpu_seconds=3600.0),
            compile=compile_programs,
        )
        evaluator = Evaluator(setup)
        source = evaluator.problem.baselines()["capped_base_stock"]
        for batch in (None, 64):
            vectors = options.vectors if compile_programs else max(64, options.vectors // 16)
            tuning = TuningSettings(vectors=vectors, batch=batch, racing=False)
            task = TuneTask(source=source, start={}, tuning=tuning, entropy=0, spawn_key=(0,))
            evaluator.run(task)  # warms up
            done = min((evaluator.run(task) for _ in range(3)), key=lambda evaluation: evaluation.seconds)
            assert done.status is Status.OK, done.reason
            way = "compiled" if done.compiled else "plain"
            rate = vectors / done.seconds
            print(
                f"{way:9} blocks of {batch or 8:2} vectors  {rate:8.0f} per second  {rate * 6400 / 1e6:6.2f} M row-steps/s"
            )
        evaluator.close()


if __name__ == "__main__":
    main()
