"""Sensitivities of passages, beside differences of passages, and passages over ranges of parameters."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hopflow import sweep
from markov import MM1K, JacksonTandem, PauseTandem, explore, passage
from markov.errors import NoDerivativeError


def machines(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
    if s.up > 0:
        yield s._replace(up=s.up - 1), q.fails * s.up
    if s.up < 3:
        yield s._replace(up=s.up + 1), q.repair * (3 - s.up)


def ruin(n: int, q: Any) -> Iterator[tuple[int, Any]]:
    if 0 < n < 10:
        yield n + 1, q.win
        yield n - 1, q.lose


def polling(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
    if s.queue < 6:
        yield s._replace(queue=s.queue + 1), q.arrivals[s.at]
    if s.queue > 0:
        yield s._replace(queue=s.queue - 1), q.service / (1.0 + s.at)
    yield s._replace(at=1 - s.at), q.switch**2


UNITS = explore(
    machines, start={"up": 3}, params={"fails": 0.1, "repair": 1.0}, rewards=lambda s, q: {"cost": q.repair * s.up}
)
GAMBLER = explore(ruin, start=4, params={"win": 0.9, "lose": 1.1})
POLLED = explore(polling, start={"queue": 0, "at": 0}, params={"arrivals": (0.5, 0.8), "service": 1.3, "switch": 0.7})
CASES = {
    "failure": (UNITS, lambda s: s.up == 0, None, "fails", "mean"),
    "repair": (UNITS, lambda s: s.up == 0, None, "repair", "mean"),
    "cost": (UNITS, lambda s: s.up == 0, None, "repair", "cost"),
    "ruin": (GAMBLER, 0, None, "win", "probability"),
    "fortune": (GAMBLER, 10, None, "lose", "probability"),
    "end": (GAMBLER, lambda n: n in (0, 10), None, "win", "mean"),
    "full": (MM1K(capacity=10, arrival_rate=0.8, service_rate=1.0), (10,), (0,), "arrival_rate", "mean"),
    "polled": (POLLED, lambda s: s.queue == 6, None, "arrivals[1]", "mean"),
    "switch": (POLLED, lambda s: s.queue == 6 and s.at == 1, None, "switch", "mean"),
    "pause": (PauseTandem(), lambda s: s.k == 2, None, "bottleneck_rate", "mean"),
    "tandem": (JacksonTandem(), lambda s: s.m == 3, (0, 0), "service_rates[1]", "mean"),
}


@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_differences(case: str) -> None:
    model, to, start, parameter, of = CASES[case]
    asked = passage(model, to, start=start)
    found = asked.sensitivity(parameter, of)
    name, _, entry = parameter.rstrip("]").partition("[")
    rules: Any = asked.chain.model
    at = getattr(rules.params, name)

    def quantity(value: float) -> Any:
        changed = value if not entry else tuple(value if k == int(entry) else x for k, x in enumerate(at))
        there = asked.asked().again(rules.replace(**{name: changed}))
        return {"mean": there.mean, "probability": there.probability}.get(of) or there.reward(of).value

    here = float(at[int(entry)] if entry else at)
    near, far = ((quantity(here + h) - quantity(here - h)) / (2 * h) for h in (1e-4 * here, 2e-4 * here))
    difference = near + (near - far) / 3  # the error of the fourth order is left
    assert found.derivative == pytest.approx(difference, rel=1e-7)
    assert abs(found.derivative - difference) <= found.error + 1e-7 * abs(difference)
    assert found.error < 1e-7 * abs(found.derivative)
    assert found.elasticity == pytest.approx(found.derivative * here / found.value)
    assert found.value == pytest.approx(quantity(here))


def test_one_more_of_a_whole_number_is_a_difference() -> None:
    asked = passage(MM1K(capacity=10), to=lambda s: s.n == 5, start=(0,))
    more = asked.sensitivity("capacity")
    assert (more.kind, more.side) == ("difference", "right")
    assert more.derivative == pytest.approx(0.0, abs=1e-9)
    less = passage(JacksonTandem(), lambda s: s.m == 3, start=(0, 0))
    assert less.sensitivity("capacity", side="left").side == "left"


def test_a_kink_has_a_derivative_on_each_side() -> None:
    def rules(up: bool, q: Any) -> Iterator[tuple[bool, Any]]:
        yield not up, 1.0 if up else max(q.repair, 2.0)

    model = explore(rules, start=False, params={"repair": 2.0})
    asked = passage(model, to=True)
    with pytest.raises(NoDerivativeError, match=r"0 from below, -0.25 from above"):
        asked.sensitivity("repair")
    assert asked.sensitivity("repair", side="right").derivative == pytest.approx(-0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("win",), "of = 'mean': is infinite"),
        (("won", "probability"), "won"),
        (("win", "chance"), "chance"),
    ],
)
def test_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        passage(GAMBLER, 0).sensitivity(*arguments)


def test_no_sensitivity_without_parameters_or_of_infinitely_many_states() -> None:
    with pytest.raises(ValueError, match="given by its matrix"):
        passage([[-1.0, 1.0], [2.0, -2.0]], to=1, start=0).sensitivity("rate")

    def queue(n: int) -> Iterator[tuple[int, float]]:
        yield n + 1, 1.0
        if n > 0:
            yield n - 1, 2.0

    with pytest.raises(ValueError, match="infinitely many"):
        passage(explore(queue, start=0), to=0, start=5).sensitivity("rate")


def test_a_pickled_passage_has_derivatives_and_is_not_asked_again() -> None:
    asked = passage(MM1K(capacity=4), to=(4,), start=(0,))
    copy = pickle.loads(pickle.dumps(asked))
    assert copy == asked
    assert copy.sensitivity("arrival_rate") == asked.sensitivity("arrival_rate")
    with pytest.raises(ValueError, match="call `passage`"):
        copy.sensitivity("capacity")


@pytest.mark.parametrize("by_position", ["to", "start"])
def test_sweep_over_another_order_of_states(by_position: str) -> None:
    def rules(s: str, q: Any) -> Any:
        if s == "s":
            yield "a", q.detour
            yield "b", 1.0
        elif s == "a":
            yield "b", 2.0
        else:
            yield "a", 5.0
            yield "s", 1.0

    model = explore(rules, start="s", params={"detour": 1.0})
    names = {"to": "b", "start": "s"}
    positions = np.array([state == names[by_position] for state in model.chain.table.plain()])
    asked = passage(model, **{**names, by_position: positions if by_position == "to" else positions.astype(float)})
    assert sweep(asked, detour=[1.0, 2.0])["mean"].values.tolist() == [0.75, pytest.approx(2 / 3)]
    with pytest.raises(ValueError, match=f"{by_position}: has a value for each state .* order change"):
        sweep(asked, detour=[0.0, 1.0])  # without the detour b is found before a
    assert sweep(passage(model, **names), detour=[0.0])["mean"].item() == 1.0


def test_sweep_of_a_passage() -> None:
    asked = passage(UNITS, lambda s: s.up == 0)
    data = sweep(asked, repair=[0.5, 1.0, 2.0], fails=[0.1, 0.2])
    assert data["mean"].dims == ("repair", "fails")
    assert data["mean"].attrs["units"] == "s"
    assert float(data["mean"].sel(repair=1.0, fails=0.1)) == asked.mean
    rules: Any = asked.chain.model
    there = passage(rules.replace(repair=2.0, fails=0.2), lambda s: s.up == 0)
    assert float(data["mean"].sel(repair=2.0, fails=0.2)) == there.mean
    with pytest.raises(ValueError, match="repairs"):
        sweep(asked, repairs=[1.0, 2.0])
