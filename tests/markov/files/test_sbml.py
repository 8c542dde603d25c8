"""Reaction networks in SBML: formulas, events, populations."""

from __future__ import annotations

import math
import re
import textwrap
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, explore, passage, quasi_stationary, read_sbml, stationary, sweep, transient
from markov.errors import FileError
from markov.files.formulas import FIELDS

# Reaction networks in SBML: against closed forms, the same rules in Python, and hostile files.


HEAD = '<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m">'
SPECIES = '<species id="{}" initialAmount="{}" hasOnlySubstanceUnits="true"/>'


def law(text):
    return f'<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML">{text}</math></kineticLaw>'


def reaction(name, before, after, formula):
    def side(tag, species):
        refs = "".join(f'<speciesReference species="{s}" stoichiometry="{n}"/>' for s, n in species.items())
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
    assert transient(model, 1.0).probability("outside")[0] == pytest.approx(1.0 - 4.0 * math.exp(-3.0), rel=1e-12)
    assert transient(model, 1.0)["X"][0] == pytest.approx(2.0 * math.exp(-3.0) + 3.0 * 3.0 * math.exp(-3.0), rel=1e-12)


def test_answers_say_what_limits_leave_open(read: Any) -> None:
    """All of the long run is outside where the limits can be exceeded."""
    model = read(network(SPECIES.format("X", 0), BIRTH + DEATH, MU), limits=5)
    row = stationary(model).summary()["bound covers"]
    assert row == "this chain; not the network without limits, which exceeds them with probability 1"
    for answer in (transient(model, 1.0), passage(model, to=lambda s: s.X == 3)):
        assert str(answer.summary()["bound covers"]).endswith("means have no bound")
    never_exceeded = read(network(SPECIES.format("X", 2), DEATH, MU), limits=5)
    assert "bound covers" not in stationary(never_exceeded).summary()


def test_limits_that_nothing_exceeds_have_probability_0(read):
    """Reactions that only use X up: the label is in the model, and no state in it."""
    later = transient(read(network(SPECIES.format("X", 2), DEATH, MU), limits=5), [1.0, 2.0])
    assert later.probability("outside").tolist() == later["outside"].tolist() == [0.0, 0.0]


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
        (network(SPECIES.format("X", 0.5), BIRTH), "line 1: species 'X': initial amount 0.5: a whole number"),
        (network(SPECIES.format("X", 0), BIRTH, MU, "<listOfConstraints/>"), "model 'm': listOfConstraints is not read"),
        (network(SPECIES.format("X", 0), DEATH), "'mu' is not defined"),
        (
            network(SPECIES.format("X", 0), reaction("r", {}, {"Z": 1}, "<cn>1</cn>")),
            "reaction 'r': 'Z' is no species",
        ),
        (
            network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, "<apply><rem/><cn>1</cn><cn>2</cn></apply>")),
            "reaction 'r': rem with 2 arguments is not read",
        ),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, NOW)), "csymbol .*/time' depends on the time"),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1}, DEEP)), "nested more than 60 deep"),
        (network(SPECIES.format("X", 0), reaction("r", {}, {"X": 1.5}, "<cn>1</cn>")), "stoichiometry 1.5 of 'X': a whole"),
        (
            network(
                SPECIES.format("X", 0),
                BIRTH,
                MU,
                "<listOfRules><rateRule variable='mu'><math><cn>1</cn></math></rateRule></listOfRules>",
            ),
            "listOfRules: rateRule 'mu' is not read",
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
    model = read_with_events(event(at(2.0), assigned("X", half)), event(at(1.0), assigned("X", number(41))), start=3)
    found = transient(model, [1.0, 2.0])
    assert found["X"][0] == pytest.approx(41.0, rel=1e-12)
    # from the distribution just before the second event
    before = transient(read_with_events(event(at(1.0), assigned("X", number(41))), start=3), [2.0])
    numbers = np.asarray(before.chain.states.X)
    inside = ~np.asarray(before.chain.states.outside, dtype=bool)
    expected = before.pi[0] @ np.where(inside, numbers // 2, 0)
    assert found["X"][1] == pytest.approx(expected, rel=1e-11)


def test_reactions_that_change_nothing_leave_the_state(read: Any) -> None:
    constant = SPECIES.format("X", 4).replace("/>", " boundaryCondition='true' constant='true'/>")
    model = read(network(constant + SPECIES.format("Y", 3), DEATH, MU))
    assert model.chain.size == 1
    assert stationary(model)["Y"] == 3.0
    with pytest.raises(FileError, match="model: has no reactions"):
        read(network(SPECIES.format("Y", 3), "", MU))


# Doses: an event adds to an amount, once.


def more_of(variable: str, dose: int) -> str:
    return assigned(variable, f"<apply><plus/><ci>{variable}</ci>{number(dose)}</apply>")


def test_doses_add_to_the_amount_of_their_time(read_with_events: Any) -> None:
    """The mean follows a linear equation; the limits of 60 are exceeded with a probability below 1e-9."""
    model = read_with_events(event(at(1.0), more_of("X", 5)), event(at(2.0), more_of("X", 7)), start=3)
    found = transient(model, [1.0, 1.5, 2.0, 4.0])
    first = 6 + (3 - 6) * math.exp(-0.5) + 5
    second = 6 + (first - 6) * math.exp(-0.5) + 7
    expected = [first, 6 + (first - 6) * math.exp(-0.25), second, 6 + (second - 6) * math.exp(-1.0)]
    np.testing.assert_allclose(found["X"], expected, rtol=1e-9)


def test_a_dose_beyond_the_limit_leads_out_of_the_limits(read_with_events: Any) -> None:
    """By the distribution before the dose: numbers above 10 exceed 60 with 50 more."""
    model = read_with_events(event(at(1.0, "gt"), more_of("X", 50)), start=3)
    found = transient(model, [1.0, 1.0 + 1e-12])
    numbers = np.asarray(found.chain.states.X)
    inside = ~np.asarray(found.chain.states.outside, dtype=bool)
    stays = inside & (numbers <= 10)
    assert found.pi[1][~inside].sum() == pytest.approx(1.0 - found.pi[0][stays].sum(), rel=1e-9)
    assert found["X"][1] == pytest.approx(found.pi[0][stays] @ (numbers[stays] + 50.0), rel=1e-9)


def test_a_start_that_an_event_has_no_value_for_is_refused(read_two_species: Any) -> None:
    model = read_two_species(event(at(1.0), more_of("X", 5)))
    numbers = np.asarray(model.chain_between_events.states.X)
    assert sorted(set(numbers.tolist())) == [2, 7]
    start = (numbers == 7) / np.sum(numbers == 7)
    with pytest.raises(ValueError, match="start: must be the initial state of a model with events"):
        transient(model, [2.0], start=start)


def two_events(execution: tuple[str, str], *values: tuple[str, str]) -> list[str]:
    """Return two events at time 1 on X and Y, with their attributes useValuesFromTriggerTime."""
    return [
        event(at(1.0), assigned(variable, value)).replace('id="e"', f'id="e{k}" useValuesFromTriggerTime="{word}"')
        for k, (word, (variable, value)) in enumerate(zip(execution, values, strict=True))
    ]


@pytest.fixture
def read_two_species(tmp_path: Any) -> Any:
    def reader(*events: str, rule: str = "") -> Any:
        path = tmp_path / "two.xml"
        listed = f"{rule}<listOfEvents>{''.join(events)}</listOfEvents>"
        text = network(
            SPECIES.format("X", 2) + SPECIES.format("Y", 7),
            DEATH,
            "<parameter id='mu' value='0'/><parameter id='double'/>" if rule else "<parameter id='mu' value='0'/>",
            listed,
        )
        path.write_text(text, encoding="utf-8")
        return read_sbml(path, limits=20)

    return reader


def test_values_at_the_trigger_are_exchanged_and_those_at_execution_need_an_order(read_two_species: Any) -> None:
    swap = ("X", "<ci>Y</ci>"), ("Y", "<ci>X</ci>")
    found = transient(read_two_species(*two_events(("true", "true"), *swap)), [1.5])
    assert (round(found["X"][0]), round(found["Y"][0])) == (7, 2)
    for execution in (("false", "false"), ("true", "0"), ("false", "1")):
        with pytest.raises(
            FileError, match=r"useValuesFromTriggerTime = false and uses '[XY]', which .*: their order is not given"
        ):
            transient(read_two_species(*two_events(execution, *swap)), [1.5])
    rule = "<listOfRules><assignmentRule variable='double'><math><apply><plus/><ci>Y</ci><ci>Y</ci></apply></math></assignmentRule></listOfRules>"
    through_rule = two_events(("false", "true"), ("X", "<ci>double</ci>"), ("Y", number(3)))
    with pytest.raises(FileError, match="'Y', which event 'e1' assigns"):
        transient(read_two_species(*through_rule, rule=rule), [1.5])
    apart = two_events(("false", "false"), ("X", f"<apply><plus/><ci>X</ci>{number(5)}</apply>"), ("Y", number(3)))
    found = transient(read_two_species(*apart), [1.5])
    assert (round(found["X"][0]), round(found["Y"][0])) == (7, 3)
    with pytest.raises(FileError, match="event 'e0': useValuesFromTriggerTime = 'no': must be true or false"):
        read_two_species(*two_events(("no", "true"), *swap))


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


ABOVE_7 = f"<apply><gt/><ci>X</ci>{number(7)}</apply>"


def test_a_triggered_dose_beyond_the_limit_leads_out_of_the_limits(read_with_events: Any) -> None:
    """A dose that X reaches at 8 molecules."""
    model = read_with_events(event(ABOVE_7, more_of("X", 53)))
    until_8 = explore(lambda n, q: [(n + 1, 3.0)] + ([(n - 1, 0.5 * n)] if n else []) if n < 8 else [], start=0)
    assert model.chain.size == 9
    assert passage(model, to="outside").mean == pytest.approx(passage(until_8, to=8).mean, rel=1e-13)
    assert read_with_events(event(ABOVE_7, more_of("X", 52))).chain.size == 62  # from 8 to 60, the limit


@pytest.mark.parametrize("value", [number(61), f"<apply><minus/><ci>X</ci>{number(9)}</apply>"])
def test_a_triggered_event_that_assigns_no_number_of_molecules_is_named(read_with_events: Any, value: str) -> None:
    model = read_with_events(event(ABOVE_7, assigned("X", value)))
    message = "event 'e', which reaction 'birth' triggers: .* it must assign whole numbers from 0 to the limit"
    with pytest.raises(FileError, match=message):
        transient(model, 1.0)


def test_a_triggered_event_whose_value_depends_on_a_rule_is_refused(read: Any) -> None:
    """A rule would have its value before the reaction, not after it."""
    less = f"<apply><minus/><ci>X</ci>{number(5)}</apply>"
    rule = f'<listOfRules><assignmentRule variable="less"><math>{less}</math></assignmentRule></listOfRules>'
    events = f"<listOfEvents>{event(ABOVE_7, assigned('X', '<ci>less</ci>'))}</listOfEvents>"
    text = network(SPECIES.format("X", 0), BIRTH + DEATH, MU + '<parameter id="less" constant="false"/>', rule + events)
    with pytest.raises(FileError, match="event 'e': assigns 'X' a value that depends on a rule: not read of events"):
        read(text)


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
def test_events_that_cannot_be_read_are_refused(events: list[str], said: str, read_with_events: Any) -> None:
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
def test_they_are_refused_before_any_work(events: list[str], said: str, read_with_events: Any) -> None:
    with pytest.raises(FileError, match=said):
        transient(read_with_events(*events), [2.0])


# The mathematics of level 2, against Python's.


def apply(operator: str, *parts: str) -> str:
    return f"<apply><{operator}/>{''.join(parts)}</apply>"


X, TWO = "<ci>X</ci>", "<cn>2</cn>"
LAWS = {
    apply("exp", apply("minus", X)): lambda x: math.exp(-x),
    apply("ln", apply("plus", X, TWO)): lambda x: math.log(x + 2),
    apply("log", apply("plus", X, TWO)): lambda x: math.log10(x + 2),
    apply("log", "<logbase><cn>2</cn></logbase>", apply("plus", X, TWO)): lambda x: math.log2(x + 2),
    apply("power", X, "<cn>1.5</cn>"): lambda x: x**1.5,
    apply("power", apply("plus", X, TWO), '<cn type="integer">-2</cn>'): lambda x: (x + 2) ** -2,
    apply("root", X): math.sqrt,
    apply("root", "<degree><cn>3</cn></degree>", X): lambda x: x ** (1 / 3),
    apply("abs", apply("minus", X, "<cn>3</cn>")): lambda x: abs(x - 3),
    apply("floor", apply("divide", X, TWO)): lambda x: x // 2,
    apply("ceiling", apply("divide", X, TWO)): lambda x: -(-x // 2),
    apply("factorial", X): math.factorial,
    apply("times", "<pi/>", "<exponentiale/>", X): lambda x: math.pi * math.e * x,
    apply("sin", apply("divide", X, "<cn>4</cn>")): lambda x: math.sin(x / 4),
    apply("arctan", X): math.atan,
    apply("sech", X): lambda x: 1 / math.cosh(x),
    apply("arccoth", apply("plus", X, TWO)): lambda x: math.atanh(1 / (x + 2)),
    apply("max", X, TWO): lambda x: max(x, 2),
    apply("times"): lambda x: 1.0,
    "<cn type='e-notation'> 2.5 <sep/> -1 </cn>": lambda x: 0.25,
    "<cn type='rational'> 1 <sep/> 8 </cn>": lambda x: 0.125,
    (
        "<piecewise><piece><cn>5</cn>"
        + apply("and", apply("lt", "<cn>1</cn>", X, "<cn>4</cn>"), "<true/>")
        + f"</piece><piece><cn>7</cn>{apply('xor', apply('eq', X, TWO), apply('geq', X, '<cn>6</cn>'))}</piece>"
        + "<otherwise><cn>3</cn></otherwise></piecewise>"
    ): lambda x: 5 if 1 < x < 4 else 7 if x >= 6 else 3,
    "<semantics><cn>4</cn></semantics>": lambda x: 4,
}  # fmt: skip


def piecewise(value: str, condition: str, otherwise: str = "<cn>0</cn>") -> str:
    return f"<piecewise><piece>{value}{condition}</piece><otherwise>{otherwise}</otherwise></piecewise>"


@pytest.mark.parametrize("limits", [8, None], ids=["by arrays", "by one state"])
def test_functions_are_those_of_python(read, limits):
    """X falls from 8 to 0, and Y becomes 1 at the rate of the law."""
    species = SPECIES.format("X", 8) + SPECIES.format("Y", 0)
    fall = reaction("fall", {"X": 1}, {}, X)
    for formula, function in LAWS.items():
        once = piecewise(formula, apply("eq", "<ci>Y</ci>", "<cn>0</cn>"))
        chain = read(network(species, fall + reaction("y", {}, {"Y": 1}, once)), limits=limits).chain
        states = zip(chain.states.X, chain.states.Y, strict=True)
        index = {(int(x), int(y)): k for k, (x, y) in enumerate(states)}
        for x in range(9):
            rate = chain.Q[index[x, 0], index[x, 1]] if (x, 1) in index else 0.0
            assert rate == pytest.approx(float(function(x)), rel=1e-14), (formula, x)


FUNCTIONS = (
    "<listOfFunctionDefinitions>"
    '<functionDefinition id="square"><math><lambda><bvar><ci>X</ci></bvar>'
    f"{apply('times', X, X)}</lambda></math></functionDefinition>"
    '<functionDefinition id="hill"><math><lambda><bvar><ci>a</ci></bvar><bvar><ci>mu</ci></bvar>'
    "<apply><divide/><apply><ci>square</ci><ci>a</ci></apply>"
    "<apply><plus/><ci>mu</ci><apply><ci>square</ci><ci>a</ci></apply></apply></apply>"
    "</lambda></math></functionDefinition></listOfFunctionDefinitions>"
)


def test_function_definitions_are_called_with_their_own_names(read):
    """Parameters hide species and constants of the same name."""
    law = "<apply><ci>hill</ci><ci>X</ci><cn>3</cn></apply>"
    text = network(SPECIES.format("X", 4), reaction("r", {"X": 1}, {}, law), MU, FUNCTIONS)
    Q = read(text).chain.Q
    assert [Q[x, x - 1] for x in (1, 2, 3, 4)] == pytest.approx([1 / 4, 4 / 7, 9 / 12, 16 / 19])


def test_local_parameters_hide_species(read):
    local = "<listOfParameters><parameter id='X' value='7'/></listOfParameters></kineticLaw>"
    part = reaction("r", {}, {"Y": 1}, X).replace("</kineticLaw>", local)
    text = network(SPECIES.format("X", 1) + SPECIES.format("Y", 0), DEATH + part, MU)
    assert transient(read(text), 1.0)["Y"][0] == pytest.approx(7.0, rel=1e-9)


def test_initial_assignments_are_values_at_time_0(read):
    """Of a parameter, of a species by it and by another species, and of a concentration; constants go into them."""
    compartment = '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'

    def assign(symbol: str, value: str) -> str:
        return f'<initialAssignment symbol="{symbol}"><math>{value}</math></initialAssignment>'

    first = apply("times", "<ci>B</ci>", apply("ln", apply("exp", "<ci>n</ci>")))
    given = (
        "<listOfInitialAssignments>"
        + assign("X", first)
        + assign("Z", X)
        + assign("mu", apply("divide", "<ci>n</ci>", "<ci>v</ci>"))
        + "</listOfInitialAssignments>"
    )
    rule = f'<listOfRules><assignmentRule variable="v"><math>{apply("plus", "<ci>B</ci>", X)}</math></assignmentRule></listOfRules>'
    species = (
        '<species id="X" hasOnlySubstanceUnits="true"/>'
        '<species id="B" initialAmount="2" boundaryCondition="true" hasOnlySubstanceUnits="true"/>'
        '<species id="Z" compartment="c" hasOnlySubstanceUnits="false"/>'
    )
    parameters = '<parameter id="mu"/><parameter id="n" value="3"/><parameter id="v"/>'
    text = network(species, DEATH, parameters, compartment + given + rule)
    for n in (3, 5):
        model = read(text, constants={"n": n})
        found = transient(model, [0.0, 0.5])
        start = 2 * n
        assert (found["X"][0], found["Z"][0]) == (start, 2 * start)
        assert model.instance.constants["mu"] == n / (2 + start)
        assert found["X"][1] == pytest.approx(start * math.exp(-0.5 * n / (2 + start)), rel=1e-9)


def test_an_event_sets_a_concentration(read):
    compartment = '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
    species = '<species id="X" compartment="c" initialAmount="1" hasOnlySubstanceUnits="false"/>'
    events = f"<listOfEvents>{event(at(1.0), assigned('X', '<cn>3</cn>'))}</listOfEvents>"
    text = network(species, DEATH, MU, compartment + events)
    assert transient(read(text), [1.0])["X"][0] == pytest.approx(6.0)


@pytest.mark.parametrize("limits", [60, None])
def test_laws_of_concentrations_are_named(read, limits):
    """From 8 molecules 2 X -> Y never meets a single one, where the law X^2 would be an error: 64 1/s, not 56."""
    square, pairs = apply("power", X, TWO), times(X, apply("minus", X, "<cn>1</cn>"))
    model = network(SPECIES.format("X", 8), reaction("pair", {"X": 2}, {}, "{}"))
    with pytest.warns(UserWarning, match=r"reaction 'pair': takes 2 of 'X', and its law is 1 with 1, .*X \(X - 1\)"):
        found = read(model.format(square), limits=limits)
    assert found.chain.exit_rates.max() == 64.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(model.format(pairs), limits=limits).chain.exit_rates.max() == 56.0


def test_initial_concentrations_without_limits(read):
    """Amounts by the size of the file are read whatever the search: with windows of the values the size was refused."""
    compartment = '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
    species = '<species id="X" compartment="c" initialConcentration="5" hasOnlySubstanceUnits="true"/>'
    text = network(species, DEATH, MU, compartment)
    for limits in (None, 20):
        model = read(text, limits=limits)
        assert model.chain.size == 11
        assert read(text, limits=limits, constants={"c": 2.0}).chain.size == 11


def test_an_initial_assignment_is_whole_but_for_rounding(read):
    """1 / 0.04 times 0.9999999999999999 is 24.999999999999996 in float64: 25 molecules; 7 / 2 is an error by name."""
    initial = "<listOfInitialAssignments><initialAssignment symbol='X'><math>{}</math></initialAssignment>"
    text = network(SPECIES.format("X", 0), DEATH, MU, initial + "</listOfInitialAssignments>")
    product = times(apply("divide", "<cn>1</cn>", "<cn>0.04</cn>"), "<cn>0.9999999999999999</cn>")
    assert read(text.format(product)).chain.size == 26
    with pytest.raises(FileError, match=r"initial value of 'X': 3\.5: must be a whole number"):
        read(text.format(apply("divide", "<cn>7</cn>", TWO)))
    dose = f"<listOfEvents>{event(at(1.0), assigned('X', product))}</listOfEvents>"
    later = transient(read(network(SPECIES.format("X", 2), DEATH, MU, dose)), [1.0])
    assert later["X"][0] == pytest.approx(25.0, rel=1e-14)


def test_amounts_of_decimal_concentrations_are_exact(read):
    """0.29 * 100 is 28.999999999999996 in float64."""
    compartment = '<listOfCompartments><compartment id="c" size="100"/></listOfCompartments>'
    species = '<species id="X" compartment="c" initialConcentration="0.29" hasOnlySubstanceUnits="false"/>'
    text = network(species, DEATH, MU, compartment)
    assert read(text).chain.size == 30
    with pytest.raises(ValueError, match=r"constants = \{'c': ...\}"):
        read(text, constants={"c": 5.0})
    stop = passage(read(text), to=lambda s: s.X == 0)
    with pytest.raises(ValueError, match=r"constants = \{'c': ...\}: initial concentrations"):
        sweep(stop, c=[100.0, 200.0])
    with pytest.raises(ValueError, match="initial concentrations"):
        stop.sensitivity("c")
    none = text.replace('initialConcentration="0.29"', 'initialConcentration="0"')
    assert read(none, constants={"c": 5.0}).chain.size == 1


@pytest.mark.parametrize("attribute", [' size="2"', ""])
def test_initial_concentrations_are_by_the_assigned_size(read, attribute):
    """X + E -> E at 4 [X] [E]: with c = 4 n and concentrations of 3/2 and 1/2 there are 6 n of X, each lost at 1/2."""
    compartment = f'<listOfCompartments><compartment id="c"{attribute}/></listOfCompartments>'
    assignment = f'<initialAssignment symbol="c"><math>{times("<cn>4</cn>", "<ci>n</ci>")}</math></initialAssignment>'
    species = (
        '<species id="X" compartment="c" initialConcentration="1.5" hasOnlySubstanceUnits="false"/>'
        '<species id="E" compartment="c" initialConcentration="0.5" boundaryCondition="true" constant="true"'
        ' hasOnlySubstanceUnits="false"/>'
    )
    loss = reaction("loss", {"X": 1, "E": 1}, {"E": 1}, times("<cn>4</cn>", X, "<ci>E</ci>"))
    assigned = f"<listOfInitialAssignments>{assignment}</listOfInitialAssignments>"
    text = network(species, loss, '<parameter id="n" value="1"/>', compartment + assigned)
    for n in (1, 2):
        found = transient(read(text, constants={"n": n}), [0.0, 1.0])["X"]
        assert (found[0], found[1]) == (6 * n, pytest.approx(6 * n * math.exp(-0.5 / n), rel=1e-9))
    decimal = text.replace('initialConcentration="1.5"', 'initialConcentration="0.29"')
    assert read(decimal, constants={"n": 25}).chain.size == 30
    for n in (0, -1):
        with pytest.raises(FileError, match=f"compartment 'c': size = {4 * n}: must be > 0|initial value -6"):
            read(text, constants={"n": n})
    compartment = '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
    with pytest.raises(FileError, match="compartment 'c': size = -1: must be > 0"):
        read(network(SPECIES.format("X", 1), DEATH, MU, compartment), constants={"c": -1})


def test_values_of_constants_that_a_file_may_not_have_are_refused_in_sweeps_too(read):
    """k A - n B is the law of one direction with n = 0 alone; the event of A > n is at time 0 with n = 1."""
    law = apply("minus", times("<ci>k</ci>", A), times("<ci>n</ci>", B))
    species, parameters = SPECIES.format("A", 2) + SPECIES.format("B", 0), '<parameter id="k" value="1"/>'
    text = network(
        species, reversible(reaction("r", {"A": 1}, {"B": 1}, law)), parameters + '<parameter id="n" value="0"/>'
    )
    stop = passage(read(text), to=lambda s: s.B == 1)
    assert sweep(stop, k=[1.0, 2.0])["mean"].values == pytest.approx([0.5, 0.25])
    with pytest.raises(FileError, match="law that may be negative"):
        sweep(stop, n=[0.0, 1.0])
    events = f"<listOfEvents>{event(apply('gt', A, '<ci>n</ci>'), assigned('B', '<cn>5</cn>'))}</listOfEvents>"
    loss = reaction("loss", {"A": 1}, {}, A)
    stop = passage(read(network(species, loss, '<parameter id="n" value="9"/>', events)), to=lambda s: s.A == 0)
    with pytest.raises(FileError, match="event at time 0"):
        sweep(stop, n=[9.0, 1.0])


def test_results_say_that_means_have_no_bound_where_limits_are_exceeded(read):
    """Of 2 X -> 3 X at X (X - 1) the mean is soon infinite; below the limit it falls from 2 to 1.95."""
    law = times(X, apply("minus", X, "<cn>1</cn>"))
    text = network(SPECIES.format("X", 2), reaction("r", {"X": 2}, {"X": 3}, law))
    model = read(text, limits=30)
    later = transient(model, [1.0])
    assert later["X"][0] == pytest.approx(1.95446, abs=1e-5)
    assert later.probability("outside")[0] == pytest.approx(0.630304, abs=1e-6)
    for result in (later, model.property('R{"X"}=? [ I=1 ]'), model.property("P=? [ F<=1 outside ]")):
        note = result.summary()["bound covers"]
        assert "a probability by at most that of" in note
        assert "means have no bound" in note
    without = read(network(SPECIES.format("X", 2), reaction("r", {"X": 2}, {}, law)), limits=None)
    assert "bound covers" not in without.property("P=? [ F<=1 (X=0) ]").summary()


def test_targets_that_hold_outside_of_the_limits_are_named(read):
    """With room for four molecules: in the state outside the amount is 0, but there are more than four."""
    model = read(network(SPECIES.format("X", 2), BIRTH + DEATH, MU), limits=4)
    for solve in (passage, quasi_stationary):
        with pytest.warns(UserWarning, match="holds in the state outside of the limits too, where amounts are 0"):
            solve(model, to=lambda s: s.X == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = passage(model, to=lambda s: s.X == 0 and not s.outside)
        assert 0.0 < empty.probability < 1.0
        assert math.isinf(empty.mean)
        passage(model, to="outside")
        passage(model, to=lambda s: s.outside)
        passage(model, to=lambda s: s.X == 4)


@pytest.mark.filterwarnings("ignore:.*as of concentrations")
def test_a_reaction_needs_its_reactants(read):
    """A piecewise law is often positive without any; where there are some, but too few, it is refused by name."""
    law = piecewise(X, apply("gt", X, TWO), "<cn>1</cn>")
    model = read(network(SPECIES.format("X", 4), reaction("r", {"X": 1}, {}, law)))
    assert sorted(-model.chain.Q.diagonal()) == [0.0, 1.0, 1.0, 3.0, 4.0]
    pairs = reaction("pair", {"X": 2}, {}, apply("power", X, TWO))
    for limits in (60, None):
        with pytest.raises(FileError, match=r"reaction 'pair': .*from state .*X \(X - 1\)"):
            read(network(SPECIES.format("X", 5), pairs), limits=limits).chain  # noqa: B018


@pytest.mark.filterwarnings("ignore:.*as of concentrations")
@pytest.mark.parametrize("limits", [{"X": 60, "S": 9}, None])
@pytest.mark.parametrize(
    ("before", "after", "law", "start"),
    [
        ({"X": 2, "S": 1}, {"X": 3}, times(X, X, "<ci>S</ci>"), 2),
        ({"X": 2}, {"X": 1}, apply("power", X, TWO), 5),
        ({"X": 1, "S": 1}, {"X": 1}, times("<cn>3</cn>", "<ci>S</ci>"), 2),
    ],
)
def test_a_reactant_that_a_product_returns_is_needed_too(
    read: Any, before: dict[str, int], after: dict[str, int], law: str, start: int, limits: Any
) -> None:
    """The change of 2X + S -> 3X has no X, and that of X + S -> X neither: the law alone must know that X is taken."""
    loss = reaction("loss", {"X": 1}, {}, X)
    text = network(SPECIES.format("X", start) + SPECIES.format("S", 3), reaction("r", before, after, law) + loss)
    with pytest.raises(FileError, match=r"reaction 'r': .*from state .*X \(X - 1\)"):
        read(text, limits=limits).chain  # noqa: B018


def test_a_returned_reactant_of_which_there_is_none_disables_the_reaction(read: Any) -> None:
    """A law that depends on it, and is positive without it: X + S -> X at S (1 + X), from X = 2 and S = 3."""
    law = times("<ci>S</ci>", apply("plus", "<cn>1</cn>", X))
    rules = reaction("r", {"X": 1, "S": 1}, {"X": 1}, law) + reaction("loss", {"X": 1}, {}, X)
    chain = read(network(SPECIES.format("X", 2) + SPECIES.format("S", 3), rules)).chain
    exits = {
        (int(x), int(s)): -diagonal
        for x, s, diagonal in zip(chain.states.X, chain.states.S, chain.Q.diagonal(), strict=True)
    }
    assert exits == {(x, s): x + (s * (1 + x) if x else 0) for x in range(3) for s in range(4)}


def test_reactants_that_a_law_knows_cost_nothing(read: Any) -> None:
    """2X -> 3X at X (X - 1) / 2 has the states and rates of -> X at the same rate (Schloegl's model)."""
    pairs = times("<cn>0.5</cn>", X, apply("minus", X, "<cn>1</cn>"))
    triples = times("<cn>0.25</cn>", X, apply("minus", X, "<cn>1</cn>"), apply("minus", X, TWO))
    down = reaction("down", {"X": 3}, {"X": 2}, triples)
    both = [
        read(network(SPECIES.format("X", 2), BIRTH + DEATH + down + up, MU), limits=None)
        for up in (reaction("up", {"X": 2}, {"X": 3}, pairs), reaction("up", {}, {"X": 1}, pairs))
    ]
    first, second = (stationary(model) for model in both)
    assert first["X"] == pytest.approx(second["X"], rel=1e-9)


A, B = "<ci>A</ci>", "<ci>B</ci>"
ONE = "<cn>1</cn>"


def reversible(text: str) -> str:
    return text.replace('reversible="false"', 'reversible="true"')


def conversion(law: str, start: int = 1) -> str:
    """Return a network with one reaction, A -> B."""
    species = SPECIES.format("A", start) + SPECIES.format("B", 0)
    rule = f'<listOfRules><assignmentRule variable="net"><math>{apply("minus", A, B)}</math></assignmentRule></listOfRules>'
    names = '<parameter id="net" constant="false"/><parameter id="back" value="-1"/><parameter id="k" value="2"/>'
    return network(species, reaction("r", {"A": 1}, {"B": 1}, law), names, FUNCTIONS + rule)


def net(forward: str, backward: str) -> str:
    return apply("minus", times(forward, A), times(backward, B))


@pytest.mark.parametrize("limits", [60, None])
@pytest.mark.parametrize(
    ("law", "start"),
    [
        (net(ONE, ONE), 1),
        (net("<cn>5</cn>", "<cn>0.1</cn>"), 10),  # it reaches 0 only where there is no A
        (net(ONE, ONE), 10),  # it reaches 0, and is never negative on the way
        (
            apply("minus", times(ONE, apply("plus", times(ONE, A), times("<cn>-1</cn>", B)))),
            1,
        ),  # the form of case 01018
        (apply("plus", A, times("<ci>back</ci>", B)), 10),
        (apply("divide", net(ONE, ONE), apply("plus", ONE, A, B)), 10),
        (times("<ci>k</ci>", "<ci>net</ci>"), 10),  # through an assignment rule
        (times(A, apply("minus", ONE, apply("divide", B, A))), 10),
        (apply("floor", net(ONE, ONE)), 10),
        (apply("ln", apply("divide", A, B)), 10),
        (piecewise(net(ONE, ONE), apply("gt", A, TWO), ONE), 10),
    ],
)
def test_net_laws_of_reversible_reactions_are_refused(read: Any, law: str, start: int, limits: int | None) -> None:
    """Their sign is the direction: read as one rate, the reaction would stop where both directions are equal."""
    text = reversible(conversion(law, start))
    for written in (text, text.replace(' reversible="true"', "")):  # it is the default
        with pytest.raises(
            FileError, match=r"line 1: reaction 'r': is reversible .*two reactions.*reversible=\"false\""
        ):
            read(written, limits=limits)


@pytest.mark.parametrize(("n", "forward", "backward"), [(1, 1.0, 1.0), (10, 5.0, 0.1), (10, 1.0, 1.0)])
def test_two_reactions_in_place_of_a_net_law_are_binomial(read: Any, n: int, forward: float, backward: float) -> None:
    both = reaction("r", {"A": 1}, {"B": 1}, times(f"<cn>{forward}</cn>", A))
    both += reaction("back", {"B": 1}, {"A": 1}, times(f"<cn>{backward}</cn>", B))
    found = stationary(read(reversible(network(SPECIES.format("A", n) + SPECIES.format("B", 0), both)), limits=n))
    p = backward / (forward + backward)
    assert found["A"] == pytest.approx(n * p, rel=1e-12)
    assert found.pi @ found.chain.states.A**2.0 - found["A"] ** 2 == pytest.approx(n * p * (1 - p), rel=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        times("<ci>k</ci>", A),
        times(A, apply("minus", A, ONE)),
        apply("divide", times(A, apply("minus", A, ONE), apply("minus", A, TWO)), TWO),
        apply("divide", times("<ci>k</ci>", A), apply("plus", ONE, A, B)),
        times(A, apply("minus", "<ci>k</ci>", ONE)),  # a difference of numbers
        times(A, apply("minus", "<ci>back</ci>")),
        times(A, apply("exp", apply("minus", A, B))),
        times(A, apply("power", apply("minus", A, B), TWO)),
        times(A, apply("ln", apply("plus", ONE, A))),
        times(A, apply("abs", apply("minus", A, B))),
    ],
)
def test_other_laws_of_reversible_reactions_are_rates(read: Any, law: str) -> None:
    text = conversion(law, 4)
    assert (read(reversible(text)).chain.Q != read(text).chain.Q).nnz == 0


@pytest.mark.parametrize("limits", [60, None])
def test_laws_that_are_negative_without_a_reactant_are_refused(read: Any, limits: int | None) -> None:
    """A reaction without its reactants does not happen, which must not hide that it would go backwards."""
    with pytest.raises(FileError, match=r"reaction 'r': rate -0.2 in state .*two reactions"):
        stationary(read(conversion(net(ONE, "<cn>0.1</cn>"), 2), limits=limits))
    positive = read(conversion(apply("plus", A, B), 2), limits=limits)
    assert stationary(positive).probability(lambda s: s.A == 0) == 1.0  # a law that is positive there stays allowed


def test_errors_name_the_line_and_the_reaction(read):
    text = network(SPECIES.format("X", 2), DEATH + "\n" + reaction("back", {}, {"X": 1}, apply("minus", X)), MU)
    for limits in (60, None):
        with pytest.raises(FileError, match=r"network.xml, line 2: reaction 'back': rate -") as caught:
            stationary(read(text, limits=limits))
        assert "two reactions" in str(caught.value)
        assert ".py" not in str(caught.value)


# What is not read is refused by its name.

EVERYTHING = f"""<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1">
<model id="m" substanceUnits="item" extentUnits="item" timeUnits="second" volumeUnits="litre">
<notes><p foreign="1"/></notes>
<annotation><anything foreign="1"/></annotation>
{FUNCTIONS}
<listOfUnitDefinitions><unitDefinition id="molecules">
<listOfUnits><unit kind="item" exponent="1" scale="0" multiplier="1"/></listOfUnits></unitDefinition></listOfUnitDefinitions>
<listOfCompartments><compartment id="c" size="1" spatialDimensions="3" constant="true" units="litre"/></listOfCompartments>
<listOfSpecies><species id="X" name="x" compartment="c" initialAmount="2" substanceUnits="molecules"
hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
<species id="B" compartment="c" initialAmount="2" hasOnlySubstanceUnits="true" boundaryCondition="true"/></listOfSpecies>
<listOfParameters><parameter id="mu" value="1" constant="true" units="second"/><parameter id="v" constant="false"/></listOfParameters>
<listOfInitialAssignments><initialAssignment symbol="mu"><math><cn>1</cn></math></initialAssignment></listOfInitialAssignments>
<listOfRules><assignmentRule variable="v"><math>{X}</math></assignmentRule></listOfRules>
<listOfReactions><reaction id="death" reversible="false" fast="false">
<listOfReactants><speciesReference species="X" stoichiometry="1" constant="true"/></listOfReactants>
<listOfProducts><speciesReference species="B" stoichiometry="1" constant="true"/></listOfProducts>
<listOfModifiers><modifierSpeciesReference species="B"/></listOfModifiers>
<kineticLaw><math><apply><times/><ci>k</ci><ci>X</ci></apply></math>
<listOfLocalParameters><localParameter id="k" value="1" units="second"/></listOfLocalParameters></kineticLaw></reaction></listOfReactions>
<listOfEvents><event id="e" useValuesFromTriggerTime="true"><trigger initialValue="true" persistent="true"><math>
<apply><lt/><ci>X</ci><cn units="second">1</cn></apply></math></trigger>
<listOfEventAssignments><eventAssignment variable="X"><math><cn>2</cn></math></eventAssignment></listOfEventAssignments></event></listOfEvents>
</model></sbml>"""


def elements(text: str) -> list[tuple[int, str]]:
    """Return where each start tag that is read ends, and its name."""
    skipped = {"p", "notes", "annotation", "anything"}
    found = [(m.end(1), m[1]) for m in re.finditer(r"<([A-Za-z]+)", text)]
    return [(place, name) for place, name in found if name not in skipped]


def test_unknown_attributes_and_elements_are_named_wherever_they_stand(read):
    assert read(EVERYTHING).chain.size == 2
    assert set(FIELDS) <= {name for _, name in elements(EVERYTHING)}
    for place, name in elements(EVERYTHING):
        text = f"{EVERYTHING[:place]} unheard='1'{EVERYTHING[place:]}"
        with pytest.raises(FileError, match="'unheard' is not read"):
            read(text)
        end = EVERYTHING.index(">", place)
        if name in FIELDS and EVERYTHING[end - 1] != "/":
            text = f"{EVERYTHING[: end + 1]}<unheard/>{EVERYTHING[end + 1 :]}"
            with pytest.raises(FileError, match="unheard is not read"):
                read(text)


PACKAGE = 'xmlns:{0}="http://www.sbml.org/sbml/level3/version1/{0}/version1" {0}:required="{1}" level="3"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<sbml", '<sbml xmlns:a="urn:a" a:b="1"', "'urn:a}b' is not read"),
        ('level="3"', PACKAGE.format("comp", "true"), "line 1: package .*/comp/version1 with required='true'"),
        ('level="3"', 'level="1"', "level '1'.* must be level 2 or 3"),
        ('<model id="m"', '<model id="m" conversionFactor="mu"', "model 'm': attribute 'conversionFactor'"),
        ('name="x"', 'conversionFactor="mu"', "line 9: species 'X': attribute 'conversionFactor'"),
        ('substanceUnits="item"', 'substanceUnits="mole"', "model, substanceUnits: the unit 'mole'"),
        ('timeUnits="second"', 'timeUnits="hour"', "timeUnits: the unit 'hour' is not read: must be second"),
        ("<listOfUnitDefinitions>", '<listOfUnitDefinitions><unitDefinition id="second"><listOfUnits><unit kind="second" multiplier="3600"/></listOfUnits></unitDefinition>', r"timeUnits: the unit 'second' \(kind=second multiplier=3600\) is not read"),
        ('scale="0"', 'scale="3"', "species 'X', substanceUnits: the unit 'molecules' .*scale=3"),
        ('kind="item"', 'kind="mole"', "the unit 'molecules'.*kind=mole"),
        ('<species id="B"', '<species id="X"', "species 'X': a species has the same id"),
        ('<parameter id="v"', '<parameter id="c"', "parameter 'c': a compartment has the same id"),
        ('initialAmount="2" substance', "substance", "species 'X': has neither initialAmount nor initialConcentration"),
        ('initialAmount="2" substance', 'initialAmount="2" initialConcentration="1" substance', "must have one"),
        ('initialAmount="2" substance', 'initialAmount="٢" substance', "initialAmount = '٢': a number"),
        ('"X" stoichiometry="1"', '"X"', "line 15: reaction 'death': stoichiometry of 'X' is missing"),
        ('size="1"', "", "compartment 'c': has no size; species 'X' stands for a concentration"),
        ('fast="false"', 'fast="true"', "fast reactions"),
        ('fast="false"', 'fast="maybe"', "fast = 'maybe': must be true or false"),
        ('id="k" value="1"', 'id="k"', "localParameter 'k': has no value"),
        ('modifierSpeciesReference species="B"', 'modifierSpeciesReference species="Q"', "'Q' is no species"),
        ('assignmentRule variable="v"', 'assignmentRule variable="w"', "assignmentRule of 'w': must be of a species"),
        ("</listOfRules>", '<assignmentRule variable="v"><math><cn>1</cn></math></assignmentRule></listOfRules>', "a second one"),
        ("<ci>k</ci>", "<ci>death</ci>", "'death' is the rate of reaction 'death': not read in formulas"),
        ("<ci>k</ci>", "<ci>q</ci>", "line 19: 'q' is not defined"),
        ('speciesReference species="X"', 'speciesReference id="X" species="X"', "line 16: speciesReference 'X': a species has the same id"),
        ('speciesReference species="X"', 'speciesReference id="mu" species="X"', "speciesReference 'mu': a parameter has the same id"),
        ('speciesReference species="X"', 'speciesReference id="death" species="X"', "'death': a reaction has the same id"),
        ("<bvar><ci>mu</ci></bvar>", "<bvar><ci>a</ci></bvar>", "functionDefinition 'hill': two bound variables 'a': must have different names"),
        ("<ci>square</ci><ci>a</ci>", "<ci>hill</ci><ci>a</ci>", "functionDefinition 'hill': hill -> hill: functions in a circle"),
        ("<cn>1</cn>", "<cn>1_0</cn>", "cn '1_0' of type 'real': a number is expected"),
        ("<cn>1</cn>", "<cn type='integer'>1.0</cn>", "cn '1.0' of type 'integer'"),
        ("<cn>1</cn>", "<infinity/>", "infinity is not read"),
        ("<cn>1</cn>", "<piecewise><piece><cn>1</cn><true/></piece></piecewise>", "piecewise without otherwise"),
        ("<cn>1</cn>", "<cn>1</cn><cn>2</cn>", "one formula"),
        ("<apply><lt/>", "<apply><lt definitionURL='urn:x'/>", "lt: attribute 'definitionURL'"),
        ("<trigger", "<delay><math><cn>1</cn></math></delay><trigger", "event 'e': delay is not read"),
    ],
)  # fmt: skip
def test_what_would_change_the_answer_is_refused(read, old, new, message):
    assert old in EVERYTHING
    with pytest.raises(FileError, match=message):
        read(EVERYTHING.replace(old, new)).chain  # noqa: B018


def test_ids_of_stoichiometries_are_no_values(read):
    """In level 3 the id of a participant stands for its stoichiometry, not for a parameter of a law that has its name."""
    named = EVERYTHING.replace('speciesReference species="X"', 'speciesReference id="n" species="X"')
    assert (read(named).chain.Q != read(EVERYTHING).chain.Q).nnz == 0
    with pytest.raises(
        FileError, match="reaction 'death': 'n' is the stoichiometry of 'X' in reaction 'death': not read"
    ):
        read(named.replace("<ci>k</ci>", "<ci>n</ci>"))
    with pytest.raises(FileError, match="initialAssignment of 'mu': 'n' is the stoichiometry of 'X'"):
        read(named.replace('symbol="mu"><math><cn>1</cn>', 'symbol="mu"><math><ci>n</ci>'))
    local = named.replace("<ci>k</ci>", "<ci>n</ci>").replace('localParameter id="k"', 'localParameter id="n"')
    assert (read(local).chain.Q != read(EVERYTHING).chain.Q).nnz == 0


def test_packages_that_are_not_required_are_skipped(read):
    text = EVERYTHING.replace('level="3"', PACKAGE.format("layout", "false"))
    layout = '<layout:listOfLayouts layout:a="1"><layout:layout/></layout:listOfLayouts></model>'
    plain = read(EVERYTHING).chain
    assert (read(text.replace("</model>", layout)).chain.Q != plain.Q).nnz == 0


def test_functions_cannot_grow_without_bound(read):
    doubled = "".join(
        f'<functionDefinition id="f{k + 1}"><math><lambda><bvar><ci>a</ci></bvar><apply><plus/>'
        f"<apply><ci>f{k}</ci><ci>a</ci></apply><apply><ci>f{k}</ci><ci>a</ci></apply></apply></lambda></math></functionDefinition>"
        for k in range(40)
    )
    first = '<functionDefinition id="f0"><math><lambda><bvar><ci>a</ci></bvar><ci>a</ci></lambda></math></functionDefinition>'
    more = f"<listOfFunctionDefinitions>{first}{doubled}</listOfFunctionDefinitions>"
    law = reaction("r", {}, {"X": 1}, "<apply><ci>f40</ci><cn>1</cn></apply>")
    with pytest.raises(FileError, match=r"nodes|nested"):
        read(network(SPECIES.format("X", 1), law, MU, more))


def test_level_2_has_one_molecule_by_default(read):
    """Stoichiometries of 1, and units of the model by their names."""
    text = network(SPECIES.format("X", 4), DEATH, MU).replace(' stoichiometry="1"', "")
    with pytest.raises(FileError, match="stoichiometry of 'X' is missing"):
        read(text)
    old = text.replace(HEAD, '<sbml xmlns="http://www.sbml.org/sbml/level2" level="2" version="1"><model id="m">')
    assert read(old).chain.size == 5
    units = '<listOfUnitDefinitions><unitDefinition id="substance"><listOfUnits><unit kind="{}"/></listOfUnits></unitDefinition></listOfUnitDefinitions><listOfSpecies>'
    assert read(old.replace("<listOfSpecies>", units.format("item"))).chain.size == 5
    with pytest.raises(FileError, match=r"unitDefinition 'substance': .*kind=mole"):
        read(old.replace("<listOfSpecies>", units.format("mole")))


LEVEL_2 = (
    '<sbml xmlns="http://www.sbml.org/sbml/level2" level="2" version="1"><model>'
    '<listOfUnitDefinitions><unitDefinition id="ml"><listOfUnits><unit kind="litre" scale="-3"/></listOfUnits>'
    "</unitDefinition></listOfUnitDefinitions>"
    '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
    '<listOfSpecies><species id="X" compartment="c" initialConcentration="1"/></listOfSpecies>'
    f"<listOfParameters>{MU}</listOfParameters>"
    f"<listOfReactions>{DEATH}</listOfReactions></model></sbml>"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('level="2" version="1"', 'level="2"'),
        (' xmlns="http://www.sbml.org/sbml/level2"', ""),
        ('level2" level="2" version="1"', 'level2/version3" level="2" version="3"'),
        ('level2" level="2" version="1"', 'level2/version3" level="2"'),
        ('<species id="X"', '<species id="X" spatialSizeUnits="volume"'),
        ('<species id="X"', '<species id="X" spatialSizeUnits="litre"'),
        ('id="c" size="2"/></listOfCompartments><listOfSpecies><species', 'id="c" size="2" units="ml"/></listOfCompartments><listOfSpecies><species spatialSizeUnits="ml"'),
        ('id="c" size="2"/></listOfCompartments><listOfSpecies><species', 'id="c" size="2" spatialDimensions="2"/></listOfCompartments><listOfSpecies><species spatialSizeUnits="area"'),
    ],
)  # fmt: skip
def test_files_that_agree_with_themselves_are_read(read: Any, old: str, new: str) -> None:
    """Two molecules in two units of size, each of which the law sees as a concentration of a half."""
    assert old in LEVEL_2
    model = read(LEVEL_2.replace(old, new))
    assert transient(model, [1.0])["X"][0] == pytest.approx(2.0 * math.exp(-0.25), rel=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sbml/level2", "sbml/level3/version1/core", "line 1: xmlns = .*level3/version1/core': must be that of level 2"),
        ("sbml/level2", "sbml/level2/version4", "line 1: xmlns = .*must be that of level 2 version 1, .*level2'"),
        ('level="2" version="1"', 'level="3"', "line 1: xmlns = .*must be that of level 3 version 2"),
        ("http://www.sbml.org/sbml/level2", "urn:x", "line 1: xmlns = 'urn:x': must be"),
        ('<species id="X"', '<species id="X" spatialSizeUnits="ml"', "species 'X': spatialSizeUnits = 'ml': must be .*'volume'"),
        ('<species id="X"', '<species id="X" spatialSizeUnits="area"', "species 'X': spatialSizeUnits = 'area'"),
        ('id="ml"', 'id="volume"/><unitDefinition id="ml"', None),
        ('size="2"', 'spatialDimensions="0"', "species 'X': initialConcentration: compartment 'c' has 0 dimensions"),
        ('size="2"', 'spatialDimensions=" 0 "', "species 'X': initialConcentration: compartment 'c' has 0 dimensions"),
        ('size="2"', 'size="2" spatialDimensions=" 0 "', "compartment 'c': size = '2': a compartment of 0 dimensions has no size: remove it"),
        ('size="2"', 'size="0"', "compartment 'c': size = '0': must be > 0"),
        ('<species id="X"', '<species id="X" constant="true"', "reaction 'death': 'X' is constant without boundaryCondition"),
    ],
)  # fmt: skip
def test_files_that_contradict_themselves_are_refused(read: Any, old: str, new: str, message: str | None) -> None:
    """Level and namespace, the size that a concentration refers to, and constants that reactions change."""
    assert old in LEVEL_2
    text = LEVEL_2.replace(old, new)
    if message is None:  # a volume that the file defines need not be a litre
        text = text.replace('<species id="X"', '<species id="X" spatialSizeUnits="litre"')
        message = "spatialSizeUnits = 'litre': must be the unit of its compartment's size, 'volume'"
    with pytest.raises(FileError, match=message):
        read(text).chain  # noqa: B018


# Models of the stochastic part of the SBML test suite (sbmlteam/sbml-test-suite, cases/stochastic, LGPL-2.1), in words of our own:
# its means and standard deviations at t = 10, which are analytic.

LAMBDA, DEATH_RATE = '<parameter id="Lambda" value="0.1"/>', '<parameter id="Mu" value="{}"/>'
X_DEATH = times("<ci> Mu </ci>", "<ci> X </ci>")
X_BIRTH = times("<ci> Lambda </ci>", "<ci> X </ci>")


def local(text: str, **values: float) -> str:
    """Return a reaction whose law has parameters of its own."""
    own = "".join(f'<localParameter id="{k}" value="{x}"/>' for k, x in values.items())
    own = f"<listOfLocalParameters>{own}</listOfLocalParameters>"
    return text.replace("</kineticLaw>", f"{own}</kineticLaw>")


@pytest.mark.parametrize(
    ("text", "limits", "mean", "deviation"),
    [
        # 00002: parameters within the laws
        (network(SPECIES.format("X", 100), local(reaction("Birth", {"X": 1}, {"X": 2}, X_BIRTH), Lambda=0.1) + local(reaction("Death", {"X": 1}, {}, X_DEATH), Mu=0.11)), 300, 90.48374, 13.44708),
        # 00004: ten molecules, which often die out
        (network(SPECIES.format("X", 10), reaction("Birth", {"X": 1}, {"X": 2}, X_BIRTH) + reaction("Death", {"X": 1}, {}, X_DEATH), LAMBDA + DEATH_RATE.format(0.11)), 120, 9.04837, 4.252340532),
        # 00012: a product of four factors
        (network(SPECIES.format("X", 100), reaction("Birth", {"X": 1}, {"X": 2}, times("<ci> Lambda </ci>", "<ci> X </ci>", "<cn> 0.5 </cn>", '<cn type="integer"> 2 </cn>')) + reaction("Death", {"X": 1}, {}, X_DEATH), LAMBDA + DEATH_RATE.format(0.11)), 300, 90.48374, 13.44708),
        # 00020: immigration and death
        (network(SPECIES.format("X", 0), reaction("Immigration", {}, {"X": 1}, "<ci> Alpha </ci>") + reaction("Death", {"X": 1}, {}, X_DEATH), '<parameter id="Alpha" value="1"/>' + DEATH_RATE.format(0.1)), 60, 6.321206, 2.514200867),
        # 00037: five at a time
        (network(SPECIES.format("X", 0), reaction("Immigration", {}, {"X": 5}, "<ci> Alpha </ci>") + reaction("Death", {"X": 1}, {}, X_DEATH), '<parameter id="Alpha" value="1"/>' + DEATH_RATE.format(0.2)), 150, 21.616618, 8.408379),
        # 00030: pairs, of P
        (network(SPECIES.format("P2", 0) + SPECIES.format("X", 100), reaction("Dimerisation", {"X": 2}, {"P2": 1}, "<apply><divide/>" + times("<ci> k1 </ci>", "<ci> X </ci>", "<apply><minus/><ci> X </ci><cn> 1 </cn></apply>") + "<cn> 2 </cn></apply>") + reaction("Disassociation", {"P2": 1}, {"X": 2}, times("<ci> k2 </ci>", "<ci> P2 </ci>")), '<parameter id="k1" value="0.001"/><parameter id="k2" value="0.01"/>'), 100, 52.214271, 5.51176),
    ],
    ids=["00002", "00004", "00012", "00020", "00037", "00030"],
)  # fmt: skip
def test_stochastic_models_of_the_test_suite(read: Any, text: str, limits: int, mean: float, deviation: float) -> None:
    found = transient(read(text, limits=limits), 10.0)
    inside = ~found.chain.states.outside.astype(bool)
    assert found.pi[0][~inside].sum() < 1e-9
    count, pi = found.chain.states.X[inside], found.pi[0][inside]
    assert pi @ count == pytest.approx(mean, rel=2e-6)
    assert math.sqrt(pi @ count**2 - (pi @ count) ** 2) == pytest.approx(deviation, rel=2e-6)
