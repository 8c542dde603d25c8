"""Reaction networks in SBML: against closed forms, the same rules in Python, and hostile files."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pytest

from markov import explore, read_sbml, stationary, transient
from markov.errors import FileError

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
