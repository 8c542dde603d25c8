"""Events of SBML: against closed forms, the same rules in Python, and what is refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, explore, passage, read_sbml, stationary, transient
from markov.errors import FileError
from markov.files.reactions.events import shifted
from markov.files.syntax import Chain, Literal, Name, Negation
from tests.markov.files.reactions.test_sbml import BIRTH, DEATH, MU, SPECIES, network

NOW = '<csymbol definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>'


def assigned(variable: str, value: str) -> str:
    return f'<eventAssignment variable="{variable}"><math>{value}</math></eventAssignment>'


def event(trigger: str, *assignments: str, more: str = "", initial: str = "false") -> str:
    """Return an event; several of them make a list."""
    return (
        f'<event id="e"><trigger initialValue="{initial}" persistent="true"><math>{trigger}</math>'
        f"</trigger>{more}<listOfEventAssignments>{''.join(assignments)}</listOfEventAssignments></event>"
    )


def at(time: float, operator: str = "geq") -> str:
    return f"<apply><{operator}/>{NOW}<cn>{time}</cn></apply>"


def number(value: int) -> str:
    return f'<cn type="integer">{value}</cn>'


@pytest.fixture
def read(tmp_path: Any) -> Any:
    def reader(*events: str, start: int = 0) -> Any:
        path = tmp_path / "network.xml"
        listed = f"<listOfEvents>{''.join(events)}</listOfEvents>"
        text = network(SPECIES.format("X", start), BIRTH + DEATH, MU, listed)
        path.write_text(text, encoding="utf-8")
        return read_sbml(path, limits=60)

    return reader


def test_molecules_that_are_added_at_a_time_decay_from_then_on(read: Any) -> None:
    model = read(event(at(2.0), assigned("X", number(30))))
    times = np.array([1.0, 2.0, 3.5])
    found = transient(model, times)
    expected = [6 * (1 - math.exp(-0.5)), 30.0, 6 + 24 * math.exp(-0.75)]
    np.testing.assert_allclose(found["X"], expected, rtol=1e-10)
    assert found.error_bound.max() < 1e-11
    assert "1 jumps at given times" in found.method


def test_a_comparison_without_equality_happens_after_its_time(read: Any) -> None:
    model = read(event(at(2.0, "gt"), assigned("X", number(30))))
    found = transient(model, [2.0, 2.0 + 1e-9])
    np.testing.assert_allclose(found["X"], [6 * (1 - math.exp(-1.0)), 30.0], rtol=1e-7)


def test_events_follow_each_other_and_may_depend_on_the_state(read: Any) -> None:
    half = f"<apply><floor/><apply><divide/><ci>X</ci>{number(2)}</apply></apply>"
    model = read(
        event(at(2.0), assigned("X", half)), event(at(1.0), assigned("X", number(41))), start=3
    )
    found = transient(model, [1.0, 2.0])
    assert found["X"][0] == pytest.approx(41.0, rel=1e-12)
    # from the distribution just before the second event
    before = transient(read(event(at(1.0), assigned("X", number(41))), start=3), [2.0])
    numbers = np.asarray(before.chain.states.X)
    inside = ~np.asarray(before.chain.states.outside, dtype=bool)
    expected = before.pi[0] @ np.where(inside, numbers // 2, 0)
    assert found["X"][1] == pytest.approx(expected, rel=1e-11)


def test_what_is_asked_of_constant_rates_is_refused(read: Any) -> None:
    model = read(event(at(2.0), assigned("X", number(30))))
    for ask in (
        lambda: stationary(model),
        lambda: passage(model, to=(0, False)),
        lambda: model.property("S=? [ X > 3 ]"),
    ):
        with pytest.raises(FileError, match="events at given times: only transient"):
            ask()
    with pytest.raises(ValueError, match="occupancy: of a model with events"):
        transient(model, [1.0]).occupancy  # noqa: B018


class Reset(ChainModel):
    """The network with an event that a birth triggers: above 7 molecules, 2 are left."""

    class State(NamedTuple):
        X: int

    class Params(NamedTuple):
        pass

    def space(self) -> Any:
        return {"X": range(61)}

    def start(self) -> Any:
        return (0,)

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        if s.X <= 7:
            yield s._replace(X=2 if s.X == 7 else s.X + 1), 3.0
        if s.X > 0:
            yield s._replace(X=s.X - 1), 0.5 * s.X


def test_an_event_that_a_reaction_triggers_is_part_of_it(read: Any) -> None:
    above = f"<apply><gt/><ci>X</ci>{number(7)}</apply>"
    model = read(event(above, assigned("X", number(2))))
    assert model.chain.size == 8
    mine = explore(Reset()).chain
    np.testing.assert_allclose(model.chain.Q.toarray(), mine.Q.toarray(), rtol=1e-15)


def test_a_condition_that_holds_already_does_not_become_true(read: Any) -> None:
    """Above 7 at first: nothing happens until it was 7 or less."""
    above = f"<apply><gt/><ci>X</ci>{number(7)}</apply>"
    model = read(event(above, assigned("X", number(2)), initial="true"), start=9)
    Q, numbers = model.chain.Q, np.asarray(model.chain.states.X)
    places = {int(x): k for k, x in enumerate(numbers)}
    assert Q[places[9], places[10]] == 3.0
    assert Q[places[7], places[2]] == 3.0


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event(at(2.0), assigned("X", number(3)), more="<delay/>")], "event 'e': delay is not read"),
        ([event(at(2.0), assigned("mu", number(3)))], "assigns 'mu': must be a species"),
        ([event(at(2.0), assigned("X", NOW))], "a value that depends on the time"),
        ([event(at(2.0, "lt"), assigned("X", number(3)))], "must be time >= or > a number"),
        ([event(at(2.0), assigned("X", number(3))), event("<apply><gt/><ci>X</ci><cn>5</cn></apply>")],
         "their order is not given"),
        ([event("<apply><geq/><ci>X</ci><cn>0</cn></apply>")], "an event at time 0 is not read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(events: list[str], said: str, read: Any) -> None:
    with pytest.raises(FileError, match=said):
        read(*events)


def test_an_expression_is_that_after_a_step() -> None:
    tree = Negation("!", Chain(Name("X", 1), ((">", Name("Y", 1)),), 1), 1)
    later = Chain(Name("X", 1), (("+", Literal(-2, 1)),), 1)
    assert shifted(tree, {"X": -2}) == Negation("!", Chain(later, ((">", Name("Y", 1)),), 1), 1)
