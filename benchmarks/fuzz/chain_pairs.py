"""Chains, asked in two ways: labels and sets, files and Python, methods, times, sweeps, the command."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import markov as m
from benchmarks.fuzz.contradictions import Answers, Ask

ROUNDING = 1e-12
"""What two orders of operations may differ by, of a number of size one."""


class Walk(NamedTuple):
    """A random walk on a rectangle: text of the rates in Python, and as a PRISM model."""

    width: int
    height: int
    rates: tuple[float, ...]
    every: int

    def python(self) -> Callable[[Any, Any], Iterator[tuple[Any, float]]]:
        """Return the rules."""
        width, height, every = self.width, self.height, self.every
        right, left, up, down, reset = self.rates

        def rules(s: Any, q: Any) -> Iterator[tuple[Any, float]]:  # noqa: ARG001
            if s.x < width:
                yield s._replace(x=s.x + 1), right * (1 + s.y)
            if s.x > 0:
                yield s._replace(x=s.x - 1), left
            if s.y < height and s.x >= s.y:
                yield s._replace(y=s.y + 1), up
            if s.y > 0:
                yield s._replace(y=s.y - 1), down * s.y
            if (s.x + s.y) % every == 1:
                yield s._replace(x=0), reset

        return rules

    def prism(self) -> str:
        """Return the model in the PRISM language."""
        right, left, up, down, reset = map(repr, self.rates)
        return f"""ctmc
module walk
  x : [0..{self.width}] init 0;
  y : [0..{self.height}] init 0;
  [] x<{self.width} -> {right}*(1+y) : (x'=x+1);
  [] x>0 -> {left} : (x'=x-1);
  [] y<{self.height} & x>=y -> {up} : (y'=y+1);
  [] y>0 -> {down}*y : (y'=y-1);
  [] mod(x+y,{self.every})=1 -> {reset} : (x'=0);
endmodule
label "edge" = x={self.width} | y=0;
rewards "size" true : x+2*y; endrewards
"""


def walk(draw: random.Random) -> Walk:
    """Draw a walk."""
    rates = tuple(float(f"{10 ** draw.uniform(-1.5, 1.5):.4g}") for _ in range(5))
    return Walk(draw.randint(1, 7), draw.randint(1, 5), rates, draw.randint(2, 5))


SETS: dict[str, Callable[[Any], Any]] = {
    "s.x == s.y": lambda s: s.x == s.y,
    "s.x > 1 and s.y < 2": lambda s: s.x > 1 and s.y < 2,
    "not s.x": lambda s: not s.x,
    "s.x in (0, 2)": lambda s: s.x in (0, 2),
    "(s.x + s.y) % 2": lambda s: (s.x + s.y) % 2,
    "min(s.x, s.y) >= 1": lambda s: min(s.x, s.y) >= 1,
    "0 < s.x <= 3": lambda s: 0 < s.x <= 3,
    "s.y if s.x else 1 - s.y // 3": lambda s: bool(s.y if s.x else 1 - s.y // 3),
}
"""Sets of states as functions that plain Python decides."""


def _explored(draw: random.Random, **more: Any) -> tuple[Walk, Any]:
    chosen = walk(draw)
    return chosen, m.explore(chosen.python(), start={"x": 0, "y": 0}, **more)


def _states(chain: Any) -> list[Any]:
    """Return the states as plain Python has them."""
    found = chain.states
    return [type(found)(*(int(part[n]) for part in found)) for n in range(len(found[0]))]


def label_and_set(draw: random.Random) -> Answers:
    """A label's probability, and the sum of the probabilities of its states."""
    text, inside = draw.choice(list(SETS.items()))
    chosen, found = _explored(draw, labels=lambda s: {"set": inside(s)})
    answer = m.stationary(found)
    members = np.array([bool(inside(s)) for s in _states(found)])
    return Answers(f"{chosen}, {text}", answer["set"], answer.pi[members].sum(), ROUNDING)


def label_and_array(draw: random.Random) -> Answers:
    """The mean first passage to a function of the states, and to an array of truth values."""
    text, inside = draw.choice(list(SETS.items()))
    chosen, found = _explored(draw)
    members = np.array([bool(inside(s)) for s in _states(found)])
    if not members.any() or members[0]:
        return Answers(f"{chosen}, {text}", 0.0, 0.0, 0.0)
    one, other = m.passage(found, to=inside), m.passage(found, to=members)
    states = [s for s, member in zip(_states(found), members, strict=True) if member]
    third = m.passage(found, to=states)
    return Answers(f"{chosen}, to={text}", [one.mean, other.mean], [other.mean, third.mean], 1e-9 * one.mean)


def rewards_and_arrays(draw: random.Random) -> Answers:
    """A reward of the model, and the sum over states of its numbers."""
    weights = [draw.uniform(-2, 3) for _ in range(3)]
    chosen, found = _explored(
        draw,
        rewards=lambda s: {"r": weights[0] * s.x + weights[1] * max(s.y, 1) + weights[2] * (s.x > 1)},
    )
    answer = m.stationary(found)
    values = [weights[0] * s.x + weights[1] * max(s.y, 1) + weights[2] * (s.x > 1) for s in _states(found)]
    return Answers(f"{chosen}, {weights}", answer["r"], answer.pi @ values, 40 * ROUNDING)


def file_and_python(draw: random.Random) -> Answers:
    """A PRISM file, and the same rules in Python: a label's probability, a reward, a passage, a transient."""
    chosen, found = _explored(draw)
    answer, states = m.stationary(found), _states(found)
    inside = np.array([s.x == chosen.width or s.y == 0 for s in states])
    sizes = np.array([s.x + 2 * s.y for s in states])
    top = np.array([s.y == 1 for s in states])
    time = 10 ** draw.uniform(-1, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walk.sm"
        path.write_text(chosen.prism(), encoding="utf-8")
        model = m.read_prism(path)
        asked = (
            'S=? [ "edge" ]', 'R{"size"}=? [ S ]', f"P=? [ F<={time!r} y=1 ]", f"P=? [ F[{time!r},{time!r}] x=0 ]"
        )  # fmt: skip
        theirs = [model.property(text).value for text in asked]
    ours = [
        answer.pi[inside].sum(),
        answer.pi @ sizes,
        1.0 - float(m.passage(found, to=top).survival([time])[0]),
        m.transient(found, [time]).pi[0][np.array([s.x == 0 for s in states])].sum(),
    ]
    return Answers(f"{chosen}, t = {time!r}", theirs, ours, 1e-9)


def methods(draw: random.Random) -> Answers:
    """The default method and another one."""
    method = draw.choice((m.GTH(), m.SparseLU(), m.Multilevel(), m.Krylov(), m.GaussSeidel(), m.Levels()))
    model = tandem(draw)
    one, other = m.stationary(model), m.stationary(model, method)
    within = one.error_bound + other.error_bound + ROUNDING
    return Answers(f"{model}, {method}", one.pi, other.pi, within)


def tandem(draw: random.Random) -> Any:
    """Draw a pause tandem."""
    high = draw.randint(2, 12)
    return m.PauseTandem(
        buffers=(draw.randint(2, 12), high + draw.randint(1, 6)), high_threshold=high,
        low_threshold=draw.choice((None, draw.randint(1, high))), rtt=float(f"{10 ** draw.uniform(-2, 1):.3g}"),
        link_rate=float(draw.randint(1, 200)), paused_rate=float(draw.randint(1, 9)),
        arrival_rates=tuple(float(draw.randint(1, 60)) for _ in range(draw.randint(1, 3))),
    )  # fmt: skip


def late_and_stationary(draw: random.Random) -> Answers:
    """The distribution after ten thousand times the slowest rate, within its stated error, and the stationary one."""
    chosen, found = _explored(draw)
    late = m.transient(found, [1e4 / min(chosen.rates)])
    bound = max(1e-9, float(late.error_bound[0]))
    return Answers(f"{chosen}", late.pi[0], m.stationary(found).pi, bound)


def survival_and_transient(draw: random.Random) -> Answers:
    """P(T > t) of a first passage, and of a chain that stays in the set."""
    chosen, found = _explored(draw)
    times = sorted(10 ** draw.uniform(-2, 2) for _ in range(3))
    goal = chosen.width

    def stopped(s: Any, q: Any) -> Iterator[tuple[Any, float]]:
        if s.x < goal:
            yield from chosen.python()(s, q)

    stays = m.explore(stopped, start={"x": 0, "y": 0}, compiled=False)
    inside = np.array([s.x < goal for s in _states(stays)])
    other = m.transient(stays, times).pi[:, inside].sum(axis=1)
    one = m.passage(found, to=lambda s: s.x == goal).survival(times)
    return Answers(f"{chosen}, times = {times}", one, other, 1e-9)


def sweep_and_calls(draw: random.Random) -> Answers:
    """A sweep of two parameters, and a call for each pair."""
    model = tandem(draw)
    rtts, rates = [0.01, float(draw.randint(1, 5))], [2.0, float(draw.randint(5, 50))]
    swept = m.sweep(model, rtt=rtts, bottleneck_rate=rates)
    single = [[m.stationary(model.replace(rtt=rtt, bottleneck_rate=rate)).throughput for rate in rates] for rtt in rtts]
    within = 1e-9 * np.max(single)
    return Answers(f"{model}, rtt={rtts}, bottleneck_rate={rates}", swept["throughput"].values, single, within)


def command_and_python(draw: random.Random) -> Answers:
    """``hopflow solve FILE --property P --json``, and `FileModel.property`."""
    from typer.testing import CliRunner

    from hopflow.console.commands import app

    chosen, low = walk(draw), draw.randint(0, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walk.sm"
        path.write_text(chosen.prism(), encoding="utf-8")
        asked = draw.choice((f"S=? [ x > {low} ]", f"P=? [ F<=2 x > {low} ]", 'R{"size"}=? [ S ]'))
        ran = CliRunner().invoke(app, ["solve", str(path), "--property", asked, "--json"])
        told = json.loads(ran.stdout)[0]["value"]
        value = m.read_prism(path).property(asked).value
    return Answers(f"{chosen}, {asked}", told, value, ROUNDING * (1 + abs(value)))


def matrix_and_rules(draw: random.Random) -> Answers:
    """A generator matrix, given as it is, and the rules that it came from; lumped by nothing."""
    chosen, found = _explored(draw)
    one, other = m.stationary(found.chain.Q.toarray()), m.stationary(found)
    third = m.stationary(m.from_networkx(m.to_networkx(found.chain)))
    return Answers(f"{chosen}", [one.pi, third.pi], [other.pi, other.pi], ROUNDING)


def compiled_and_interpreted(draw: random.Random) -> Answers:
    """States found on arrays, and state by state."""
    chosen = walk(draw)
    one, other = (m.explore(chosen.python(), start={"x": 0, "y": 0}, compiled=c) for c in (True, False))
    first, second = one.chain.Q.toarray(), other.chain.Q.toarray()
    return Answers(f"{chosen}", first, second, 1e-12 * np.abs(second).max())


PAIRS: dict[str, Ask] = {
    "label against set": label_and_set,
    "function against array and list": label_and_array,
    "reward against array": rewards_and_arrays,
    "file against Python": file_and_python,
    "method against default": methods,
    "late transient against stationary": late_and_stationary,
    "survival against transient": survival_and_transient,
    "sweep of a chain against calls": sweep_and_calls,
    "solve --json against Python": command_and_python,
    "matrix and graph against rules": matrix_and_rules,
    "compiled against interpreted rules": compiled_and_interpreted,
}
