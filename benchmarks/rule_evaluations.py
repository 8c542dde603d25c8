"""``python -m benchmarks.rule_evaluations``: what each way from rules to a chain can do, and what it costs.

One table has CPU times per chain: of the first one, which includes translation, and of the fastest
later one with other parameters, as in a sweep. The other one counts the variants of one queue in
``tests/markov/test_ways_to_write.py``, which write the same rules in different styles, that each way accepts.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from hopflow.errors import RuleError
from markov import MM1K, CoxTandem, Kanban, PauseTandem
from markov.generators.building import ChainBuilder, build_chain
from tests.markov.test_ways_to_write import RIGHT, VARIANTS, grid_of, model_of

WAYS = ("python", "arrays")
METHODS: dict[str, Callable[[ChainBuilder], Any]] = {
    "python": ChainBuilder.build_by_python,
    "arrays": ChainBuilder.build_on_arrays,
}
MODELS: dict[str, Callable[[float], Any]] = {
    "PauseTandem()": lambda x: PauseTandem(rtt=x),
    "PauseTandem((40, 80))": lambda x: PauseTandem(buffers=(40, 80), high_threshold=60, rtt=x),
    "MM1K(300)": lambda x: MM1K(capacity=300, arrival_rate=x),
    "CoxTandem(60)": lambda _: CoxTandem(capacity=60),
    "CoxTandem(300)": lambda _: CoxTandem(capacity=300),
    "Kanban(3)": lambda _: Kanban(tickets=3),
}
"""Models by a parameter between 0.5 and 1, where they have one that does not change the pattern."""
REPEATS = 5
CAPACITY = 2400
GRID = {"width": 47, "height": 43, "x": 37, "y": 5}


def times(model: Callable[[float], Any], way: str) -> tuple[float, float, int] | None:
    """Return the CPU seconds of the first chain and of the fastest later one, and the states; None: refused."""
    taken, states = [], 0
    for n in range(REPEATS):
        begin = time.process_time()
        built = METHODS[way](ChainBuilder(model(0.5 + 0.1 * n), True, 10**8))
        taken.append(time.process_time() - begin)
        if built is None:
            return None
        states = built.codes.shape[1]
    return taken[0], min(taken[1:]), states


def accepts(model: Any, way: str) -> bool:
    """Return whether a way gives the chain, or says in which state a rule goes wrong."""
    try:
        build_chain(model, by=way)
    except RuleError as error:
        return f"cannot be run by {way}" not in str(error)
    return True


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    typer.echo(f"| model | states | {' | '.join(WAYS)} |\n|:--|--:|{'--:|' * len(WAYS)}")
    for name, model in MODELS.items():
        found = {way: times(model, way) for way in WAYS}
        cells = ["refused" if each is None else f"{1e3 * each[0]:.3g}, {1e3 * each[1]:.3g}" for each in found.values()]
        states = max(each[2] for each in found.values() if each is not None)
        typer.echo(f"| {name} | {states:,} | {' | '.join(cells)} |")
    with tempfile.TemporaryDirectory() as folder:
        groups = {
            "variants": [
                model_of(text, Path(folder), n).Queue(capacity=CAPACITY) for n, text in enumerate(VARIANTS.values())
            ],
            "unusual rates": [grid_of(rate, Path(folder), 1000 + n)(**GRID) for n, rate in enumerate(RIGHT)],
        }
        for name, models in groups.items():
            counts = {way: [accepts(model, way) for model in models] for way in WAYS[1:]}
            said = ", ".join(f"{way} {sum(each)}" for way, each in counts.items())
            typer.echo(f"{name}: {len(models)}; accepted by {said}")


if __name__ == "__main__":
    typer.run(main)
