"""``python -m benchmarks.time_and_passage``: transients, passages, rare targets, fractions, estimates, files.

CPU seconds of one process; what counts are the ratios within one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.outside.rows import suites
from benchmarks.timing import cpu_seconds
from markov import (
    Cluster,
    CoxTandem,
    Kanban,
    Panel,
    PauseTandem,
    Polling,
    estimate,
    explore,
    passage,
    read_prism,
    stationary,
)
from markov.chains import MarkovChain
from markov.files.prism import parse_prism
from markov.methods.exact import exact_distribution
from markov.time.passage_times import PassageTime
from markov.time.squaring import Evolution, Evolved
from markov.time.uniformization import Uniformized

ROUNDS = 3
LEAST_OF = 12  # runs
MOST_SUMMED = 1e5  # jumps for which uniformization is run beside squaring
SQUARED = [
    (16, 1e3),
    (16, 8e14),
    (50, 1e3),
    (50, 1e16),
    (200, 1e3),
    (200, 1e5),
    (200, 8e14),
    (200, 1e16),
    (200, 1e22),
    (500, 1e16),
]
"""States, and jumps until the time."""
GRID = """ctmc
const int N;
module first
  x : [0..N] init 0;
  [] x < N -> 3 : (x' = x + 1);
  [pass] x > 0 -> 4 : (x' = x - 1);
endmodule
module second
  y : [0..N] init 0;
  [pass] y < N -> 1 : (y' = y + 1);
  [] y > 0 -> 5 : (y' = y - 1);
endmodule
"""
FILES: dict[str, dict[str, int]] = {
    "tandem/tandem.prism": {"c": 511},
    "cluster/cluster.prism": {"N": 128},
    "kanban/kanban.prism": {"t": 4},
    "polling/polling.16.prism": {},
}
"""Files of the benchmark set with half a million states and more."""


def seconds(run: Callable[[], object]) -> float:
    """Return the median CPU time of some runs, after one to warm up."""
    return median(cpu_seconds(run, ROUNDS))


def uniformization(chain: MarkovChain) -> None:
    """Compare a transient solution with its sparse products alone."""
    jumps, start = Uniformized(chain.Q), stationary(chain).pi * 0.0
    start[0] = 1.0
    found = jumps.distribution(start, 2000.0 / jumps.rate, 1e-10)
    matrix = jumps.forward().matrix

    def products() -> None:
        vector = start
        for _ in range(found.steps):
            vector = matrix @ vector

    whole = seconds(lambda: jumps.distribution(start, 2000.0 / jumps.rate, 1e-10))
    share = seconds(products) / whole
    print(f"uniformization, {chain.size} states, {found.steps} products: "
          f"{whole:.3f} s, {share:.0%} of the speed of its products")  # fmt: skip


def passages(chain: MarkovChain) -> None:
    """Compare mean and variance of a passage time with a stationary solution and its bound."""
    solve = seconds(lambda: stationary(MarkovChain(chain.Q)))
    target = int(stationary(chain).pi.argmax())
    both = seconds(lambda: passage(MarkovChain(chain.Q), to=target, start=0 if target else 1))
    print(f"passage, {chain.model.name}, {chain.size} states: {both:.3f} s, "
          f"{both / solve:.2f} stationary solutions")  # fmt: skip


def sensitivities(model: PauseTandem) -> None:
    """Compare the sensitivities of a measure by five parameters with a stationary solution."""
    names = ("link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[0]")
    stationary(model).sensitivity("rtt", of="throughput")  # loads what both need
    solves, others = [], []
    for _ in range(2 * ROUNDS):
        begin = time.process_time()
        answer = stationary(model)
        middle = time.process_time()
        for name in names:
            answer.sensitivity(name, of="throughput")
        solves.append(middle - begin)
        others.append(time.process_time() - middle)
    print(f"five sensitivities, {answer.chain.size} states: {median(others):.3f} s beside "
          f"{median(solves):.3f} s, {median(others) / median(solves):.2f} stationary solutions")  # fmt: skip


def overflow(size: int) -> Any:
    """Return the passage from empty to a full queue of two in series, with room for so many each."""

    def rules(s: Any, q: Any) -> Any:  # noqa: ARG001
        if s.a < size and s.b < size:
            yield s._replace(a=s.a + 1), 1.0
            if s.a > 0:
                yield s._replace(a=s.a - 1, b=s.b + 1), 1.4
            if s.b > 0:
                yield s._replace(b=s.b - 1), 1.6

    return passage(explore(rules, start={"a": 0, "b": 0}), to=lambda s: s.a == size or s.b == size)


def rare_targets(size: int) -> None:
    """Print how long both tails of the time until one of two queues in series is full take, and how sure they are."""
    times, found = [2e4, 1e9], overflow(size)
    chain = found.chain
    took = seconds(lambda: PassageTime(chain, found.target, found.start).at(np.array(times)))
    tails = found.distribution(times)
    print(f"rare target, {chain.size} states, until {times}: {took:.3f} s, F {tails.cdf}, "
          f"S {tails.survival}, relative error {tails.relative_error.max():.1e}")  # fmt: skip


def random_stiff(states: int) -> np.ndarray:
    """Return dense rates over nine decades."""
    rates = 10.0 ** np.random.default_rng(5).uniform(-9.0, 0.0, (states, states))
    np.fill_diagonal(rates, 0.0)
    return rates


def squared(states: int, jumps: float) -> None:
    """Print the least time of squaring for a start and a time, its relative error, and both of uniformization."""
    rates = random_stiff(states)
    time_of_all, start = jumps / rates.sum(axis=1).max(), np.eye(1, states)[0]
    pair = np.array([rates, np.zeros_like(rates)])

    def evolved() -> Evolved:
        return Evolution(pair, time_of_all, time_of_all).forward(start, [time_of_all])

    relative, took = evolved().relative[0], least(evolved)
    line = f"squaring, {states} states, {jumps:.0e} jumps: {took:.4f} s, relative error {relative:.1e}"
    if jumps <= MOST_SUMMED:
        Q = sp.csr_matrix(rates - np.diag(rates.sum(axis=1)))
        uniformized = Uniformized(Q)
        error = uniformized.distribution(start, time_of_all, 1e-13).error
        took = least(lambda: uniformized.distribution(start, time_of_all, 1e-13))
        line += f"; uniformization {took:.4f} s, absolute error {error:.1e}"
    print(line)


def reliability() -> None:
    """Print the least time of a quantile of the time until two disks of a pair have failed."""
    rates = np.array([[-2e-5, 2e-5, 0.0], [30.0, -30.0 - 1e-5, 1e-5], [0.0, 0.0, 0.0]])
    chain, target, start = MarkovChain(rates), np.array([False, False, True]), np.eye(1, 3)[0]
    took = least(lambda: PassageTime(chain, target, start).quantile(0.5, 1.5e11))
    found = PassageTime(chain, target, start).quantile(0.5, 1.5e11)
    print(f"reliability, 3 states, quantile {found.value:.16g} +- {found.error:.1g}: {took:.4f} s")


def least(run: Callable[[], object]) -> float:
    """Return the least CPU time of some runs, after one to warm up."""
    return min(cpu_seconds(run, LEAST_OF))


def exact_fractions(states: int, transitions: int) -> None:
    """Print how long exact probabilities of a chain with random rates take."""
    rng = np.random.default_rng(0)
    rates = np.zeros((states, states))
    rates[np.arange(states), np.roll(np.arange(states), -1)] = rng.random(states)
    for _ in range(transitions - 1):
        rates[np.arange(states), rng.permutation(states)] = 10.0 * rng.random(states)
    np.fill_diagonal(rates, 0.0)
    Q = sp.csr_matrix(rates)
    took = seconds(lambda: exact_distribution(Q))
    digits = max(p.denominator for p in exact_distribution(Q)).bit_length()
    print(f"exact fractions, {states} states, {Q.nnz} transitions: {took:.3f} s, {digits} bits")


def estimates() -> None:
    """Print how long two rates of an epidemic of 34,425 states take to be estimated from eight observations."""

    def rules(s: Any, q: Any) -> Any:
        if s.S > 0 and s.I > 0:
            yield s._replace(S=s.S - 1, I=s.I + 1), q.beta * s.S * s.I
        if s.I > 0:
            yield s._replace(I=s.I - 1), q.alpha * s.I

    susceptible, infective = (254, 235, 201, 153, 121, 110, 97, 83), (7, 14, 22, 29, 20, 8, 8, 0)
    states = [{"S": s, "I": i} for s, i in zip(susceptible, infective, strict=True)]
    seen = Panel([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0], states)
    model = explore(rules, start=states[0], params={"alpha": 2.0, "beta": 0.01})
    took = seconds(lambda: estimate(model, seen, ["alpha", "beta"]))
    print(f"estimates, plague at Eyam, {model.chain.size} states: {took:.2f} s")


def exploration(states: int) -> None:
    """Explore a PRISM file of so many states, and larger ones of the suites where they are at hand."""
    path = Path(__file__).with_name("grid.prism.tmp")
    path.write_text(GRID, encoding="utf-8")
    try:
        explored(path, {"N": round(states**0.5) - 1})
    finally:
        path.unlink()
    root = suites()
    if root is None:
        print("PRISM files of the benchmark set: not run, HOPFLOW_SUITES is not set")
        return
    for name, constants in FILES.items():
        explored(root / "qcomp/benchmarks/ctmc" / name, constants)


def explored(path: Path, constants: dict[str, int]) -> None:
    """Print how fast a file's states are found, once what needs compilation is compiled."""
    took = seconds(lambda: read_prism(path, constants=constants).state_space)
    parsed = seconds(lambda: parse_prism(path))
    Q = read_prism(path, constants=constants).state_space.Q
    print(f"{path.name}: {Q.shape[0]} states, {Q.nnz - Q.shape[0]} transitions in {took:.2f} s "
          f"({parsed:.3f} s of it parsing), {Q.shape[0] / took:.2e} states/s, "
          f"{(Q.nnz - Q.shape[0]) / took:.2e} transitions/s")  # fmt: skip


def with_buffers(model: PauseTandem, size: int) -> PauseTandem:
    """Return the model with two buffers of a size and a threshold at three quarters of it."""
    return model.replace(buffers=(size, size), high_threshold=size * 3 // 4)


def main() -> None:
    """Run all comparisons."""
    model = PauseTandem(buffers=(100, 100), high_threshold=80)
    chain = stationary(model).chain
    uniformization(chain)
    others = (
        CoxTandem(capacity=80),
        Cluster(workstations=16),
        Kanban(tickets=2),
        Polling(stations=10),
    )
    for each in (*(with_buffers(model, buffer) for buffer in (40, 70, 100, 220, 330)), *others):
        passages(stationary(each).chain)
    for buffer in (40, 150, 330):
        sensitivities(with_buffers(model, buffer))
    for size in (25, 50, 100):
        rare_targets(size)
    for states, jumps in SQUARED:
        squared(states, jumps)
    reliability()
    for states in (10, 50, 100, 500):
        exact_fractions(states, 4)
    estimates()
    exploration(1_000_000)


if __name__ == "__main__":
    main()
