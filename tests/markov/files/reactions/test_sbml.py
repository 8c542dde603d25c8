"""Reaction networks in SBML: formulas, events, populations."""

from __future__ import annotations

import math
import textwrap
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, explore, passage, read_sbml, stationary, transient
from markov.errors import FileError

# Reaction networks in SBML: against closed forms, the same rules in Python, and hostile files.


HEAD = '<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m">'
SPECIES = '<species id="{}" initialAmount="{}" hasOnlySubstanceUnits="true"/>'


def law(text):
    return (
        f'<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML">{text}</math></kineticLaw>'
    )


def reaction(name, before, after, formula):
    def side(tag, species):
        refs = "".join(
            f'<speciesReference species="{s}" stoichiometry="{n}"/>' for s, n in species.items()
        )
        return f"<{tag}>{refs}</{tag}>"

    sides = side("listOfReactants", before) + side("listOfProducts", after)
    return f'<reaction id="{name}" reversible="false">{sides}{law(formula)}</reaction>'


def times(*factors):
    return f"<apply><times/>{''.join(factors)}</apply>"


def network(species, reactions, parameters="", more=""):
    return (
        f"{HEAD}<listOfSpecies>{species}</listOfSpecies>"
        f"<listOfParameters>{parameters}</listOfParameters>{more}"
        f"<listOfReactions>{reactions}</listOfReactions></model></sbml>"
    )


NOW = '<csymbol definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>'
DEEP = "<apply><minus/>" * 62 + "<cn>1</cn>" + "</apply>" * 62
MU = '<parameter id="mu" value="0.5"/>'
DEATH = reaction("death", {"X": 1}, {}, times("<ci> mu </ci>", "<ci> X </ci>"))
BIRTH = reaction("birth", {}, {"X": 1}, '<cn type="integer"> 3 </cn>')


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        path = tmp_path / "network.xml"
        path.write_text(text, encoding="utf-8")
        return read_sbml(path, **{"limits": 60, **options})

    return reader


def test_immigration_and_death_are_poisson(read):
    """From none, the number at time t is Poisson with mean 6 (1 - e^(-t / 2))."""
    model = read(network(SPECIES.format("X", 0), BIRTH + DEATH, MU))
    found = transient(model, [0.5, 2.0])
    n = np.arange(61)
    for k, t in enumerate((0.5, 2.0)):
        mean = 6.0 * (1.0 - math.exp(-0.5 * t))
        known = np.exp(n * math.log(mean) - mean - [math.lgamma(x + 1.0) for x in n])
        inside = ~found.chain.states.outside.astype(bool)
        order = np.argsort(found.chain.states.X[inside])
        bound = found.error_bound[k] + found.probability("outside")[k]
        assert np.abs(found.pi[k][inside][order] - known).sum() / 2 <= bound + 1e-14
    assert model.property("S=? [ outside ]").value == pytest.approx(1.0)  # in the end it leaves


def test_what_a_limit_cuts_off_goes_to_a_state_of_its_own(read):
    model = read(network(SPECIES.format("X", 2), BIRTH, MU), limits={"X": 3})
    assert model.chain.size == 3
    assert transient(model, 1.0).probability("outside")[0] == pytest.approx(
        1.0 - 4.0 * math.exp(-3.0), rel=1e-12
    )
    assert transient(model, 1.0)["X"][0] == pytest.approx(
        2.0 * math.exp(-3.0) + 3.0 * 3.0 * math.exp(-3.0), rel=1e-12
    )


def test_a_dimer_is_that_of_plain_rules(read):
    """Local parameters, stoichiometries above one, powers, and conservation."""
    bind = law(
        "<apply><divide/><apply><times/><ci>k</ci><ci>P</ci>"
        "<apply><minus/><ci>P</ci><cn> 1 </cn></apply></apply><cn type='integer'>2</cn></apply>"
    ).replace(
        "</kineticLaw>",
        "<listOfLocalParameters><localParameter id='k' value='0.2'/></listOfLocalParameters></kineticLaw>",
    )
    join = reaction("join", {"P": 2}, {"D": 1}, "").replace(law(""), bind)
    part = reaction("part", {"D": 1}, {"P": 2}, times("<ci>mu</ci>", "<ci>D</ci>"))
    species = SPECIES.format("P", 7) + SPECIES.format("D", 0)
    model = read(network(species, join + part, MU), limits={"P": 7, "D": 3})

    def rules(s, q):
        if s.P >= 2:
            yield s._replace(P=s.P - 2, D=s.D + 1), 0.2 * s.P * (s.P - 1) / 2
        if s.D >= 1:
            yield s._replace(P=s.P + 2, D=s.D - 1), 0.5 * s.D

    plain = explore(rules, start={"P": 7, "D": 0}, rewards=lambda s: {"D": s.D})
    assert model.chain.size == 4
    assert stationary(model)["D"] == pytest.approx(stationary(plain)["D"], rel=1e-13)


def test_concentrations_boundary_species_and_assignment_rules(read):
    compartment = '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
    species = (
        '<species id="X" compartment="c" initialConcentration="3" hasOnlySubstanceUnits="false"/>'
        '<species id="B" compartment="c" initialAmount="4" boundaryCondition="true" '
        'hasOnlySubstanceUnits="true"/>'
        '<species id="y" compartment="c" hasOnlySubstanceUnits="true"/>'
    )
    rule = (
        '<listOfRules><assignmentRule variable="y"><math><apply><power/><ci>X</ci>'
        "<cn type='integer'>2</cn></apply></math></assignmentRule></listOfRules>"
    )
    decay = reaction("decay", {"X": 1, "B": 1}, {"B": 1}, times("<ci>X</ci>", "<ci>B</ci>"))
    model = read(network(species, decay, "", compartment + rule))
    found = transient(model, [0.0, 0.25])
    assert found["X"][0] == 6.0  # an amount: 3 times the size
    assert found["y"][0] == 9.0  # of the concentration
    assert found["X"][1] == pytest.approx(6.0 * math.exp(-0.25 * 4.0 / 2.0), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<sbml><model>", "no XML"),
        ("<html/>", "no SBML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><sbml/>', "entities are not read"),
        (network(SPECIES.format("X", 0), ""), "has no reactions"),
        (network(SPECIES.format("X", 0.5), BIRTH), "'X', initial amount: 0.5: a whole number"),
        (network(SPECIES.format("X", 0), BIRTH, MU, "<listOfConstraints/>"), "listOfConstraints: not read"),
        (network(SPECIES.format("X", 0), DEATH), "'mu' is not defined"),
        (
            network(SPECIES.format("X", 0), reaction("r", {}, {"Z": 1}, "<cn>1</cn>")),
            "reaction 'r': 'Z' is no species",
        ),
        (
            network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, "<apply><sin/><cn>1</cn></apply>")),
            "reaction 'r': sin with 1 arguments is not read",
        ),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, NOW)), "csymbol is not read"),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, DEEP)), "nested more than 60 deep"),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1.5}, "<cn>1</cn>")), "1.5: a whole"),
        (
            network(
                SPECIES.format("X", 0),
                BIRTH,
                MU,
                "<listOfRules><rateRule variable='mu'><math><cn>1</cn></math></rateRule></listOfRules>",
            ),
            "rateRule of 'mu': not read",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_place(read, text, message):
    with pytest.raises(FileError, match=message.replace("[", r"\[")):
        read(textwrap.dedent(text)).chain  # noqa: B018


def test_a_reaction_without_its_reactants_is_refused(read):
    """Its law is not zero where there are none: the file means something that no count can do."""
    with pytest.raises(FileError, match="X"):
        read(network(SPECIES.format("X", 1), reaction("r", {"X": 1}, {}, "<cn>1</cn>"))).chain  # noqa: B018


def test_limits_are_checked(read):
    text = network(SPECIES.format("X", 5), BIRTH + DEATH, MU)
    with pytest.raises(ValueError, match="largest number of 'X' is missing"):
        read(text, limits={})
    with pytest.raises(ValueError, match="'Y' is no species that reactions change"):
        read(text, limits={"X": 9, "Y": 3})
    with pytest.raises(ValueError, match=r"limits\['X'\] = 4"):
        read(text, limits=4)


# Events of SBML: against closed forms, the same rules in Python, and what is refused.


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
def read_with_events(tmp_path: Any) -> Any:
    def reader(*events: str, start: int = 0) -> Any:
        path = tmp_path / "network.xml"
        listed = f"<listOfEvents>{''.join(events)}</listOfEvents>"
        text = network(SPECIES.format("X", start), BIRTH + DEATH, MU, listed)
        path.write_text(text, encoding="utf-8")
        return read_sbml(path, limits=60)

    return reader


def test_molecules_that_are_added_at_a_time_decay_from_then_on(read_with_events: Any) -> None:
    model = read_with_events(event(at(2.0), assigned("X", number(30))))
    times = np.array([1.0, 2.0, 3.5])
    found = transient(model, times)
    expected = [6 * (1 - math.exp(-0.5)), 30.0, 6 + 24 * math.exp(-0.75)]
    np.testing.assert_allclose(found["X"], expected, rtol=1e-10)
    assert found.error_bound.max() < 1e-11
    assert "1 jumps at given times" in found.method


def test_a_comparison_without_equality_happens_after_its_time(read_with_events: Any) -> None:
    model = read_with_events(event(at(2.0, "gt"), assigned("X", number(30))))
    found = transient(model, [2.0, 2.0 + 1e-9])
    np.testing.assert_allclose(found["X"], [6 * (1 - math.exp(-1.0)), 30.0], rtol=1e-7)


def test_events_follow_each_other_and_may_depend_on_the_state(read_with_events: Any) -> None:
    half = f"<apply><floor/><apply><divide/><ci>X</ci>{number(2)}</apply></apply>"
    model = read_with_events(
        event(at(2.0), assigned("X", half)), event(at(1.0), assigned("X", number(41))), start=3
    )
    found = transient(model, [1.0, 2.0])
    assert found["X"][0] == pytest.approx(41.0, rel=1e-12)
    # from the distribution just before the second event
    before = transient(read_with_events(event(at(1.0), assigned("X", number(41))), start=3), [2.0])
    numbers = np.asarray(before.chain.states.X)
    inside = ~np.asarray(before.chain.states.outside, dtype=bool)
    expected = before.pi[0] @ np.where(inside, numbers // 2, 0)
    assert found["X"][1] == pytest.approx(expected, rel=1e-11)


def test_what_is_asked_of_constant_rates_is_refused(read_with_events: Any) -> None:
    model = read_with_events(event(at(2.0), assigned("X", number(30))))
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


@pytest.mark.parametrize(
    "above",
    [
        f"<apply><gt/><ci>X</ci>{number(7)}</apply>",
        (
            "<apply><and/><apply><not/><apply><leq/><ci>X</ci><cn>7</cn></apply></apply><apply><leq/><ci>X</ci>"
            "<apply><times/><ci>mu</ci><cn type='e-notation'>2<sep/>3</cn></apply></apply></apply>"
        ),
    ],
    ids=["above", "not below, and below 1000"],
)
def test_an_event_that_a_reaction_triggers_is_part_of_it(read_with_events: Any, above: str) -> None:
    model = read_with_events(event(above, assigned("X", number(2))))
    assert model.chain.size == 8
    mine = explore(Reset()).chain
    np.testing.assert_allclose(model.chain.Q.toarray(), mine.Q.toarray(), rtol=1e-15)


def test_a_condition_that_holds_already_does_not_become_true(read_with_events: Any) -> None:
    """Above 7 at first: nothing happens until it was 7 or less."""
    above = f"<apply><gt/><ci>X</ci>{number(7)}</apply>"
    model = read_with_events(event(above, assigned("X", number(2)), initial="true"), start=9)
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
def test_events_that_cannot_be_read_are_refused(
    events: list[str], said: str, read_with_events: Any
) -> None:
    with pytest.raises(FileError, match=said):
        read_with_events(*events)


# Events at given times that cannot be.


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([event(at(0.0), assigned("X", number(3)))], "an event at time 0: must be > 0"),
        ([event(at(1.0), assigned("X", number(61)))], "assigns .61.* to 'X': must be a whole number"),
        ([event(at(1.0), assigned("X", "<cn>0.5</cn>"))], "from 0 to 60"),
        ([event(at(1.0), assigned("X", number(k))) for k in (1, 2)], "assign the same variable"),
    ],
)  # fmt: skip
def test_they_are_refused_before_any_work(
    events: list[str], said: str, read_with_events: Any
) -> None:
    with pytest.raises(FileError, match=said):
        transient(read_with_events(*events), [2.0])
