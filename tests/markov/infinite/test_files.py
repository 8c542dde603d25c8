"""Files whose variables have no bounds: the same answers as of rules in Python, and of far larger finite files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import explore, passage, read_jani, read_prism, read_sbml, stationary, transient
from markov.errors import FileError, TooLargeError
from tests.markov.infinite.families import shortest_first

SHORTEST = """ctmc
const double arrivals = 1.2;
module jobs
  first : int;
  second : int;
  [] first <= second -> arrivals : (first' = first + 1);
  [] first > second -> arrivals : (second' = second + 1);
  [served] first > 0 -> 1 : (first' = first - 1);
  [] second > 0 -> 1 : (second' = second - 1);
endmodule
label "idle" = first + second = 0;
rewards "jobs" true : first + second; endrewards
rewards "served" [served] true : 1; endrewards
"""
GENE = """<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core"><model>
<listOfSpecies><species id="m" initialAmount="0" hasOnlySubstanceUnits="true"/>
<species id="p" initialAmount="0" hasOnlySubstanceUnits="true"/></listOfSpecies>
<listOfParameters><parameter id="k" value="2"/></listOfParameters><listOfReactions>
<reaction id="r1"><listOfProducts><speciesReference species="m" stoichiometry="1"/></listOfProducts>
<kineticLaw><math><ci>k</ci></math></kineticLaw></reaction>
<reaction id="r2"><listOfProducts><speciesReference species="p" stoichiometry="1"/></listOfProducts>
<kineticLaw><math><apply><times/><cn>3</cn><ci>m</ci></apply></math></kineticLaw></reaction>
<reaction id="r3"><listOfReactants><speciesReference species="m" stoichiometry="1"/></listOfReactants>
<kineticLaw><math><ci>m</ci></math></kineticLaw></reaction>
<reaction id="r4"><listOfReactants><speciesReference species="p" stoichiometry="1"/></listOfReactants>
<kineticLaw><math><ci>p</ci></math></kineticLaw></reaction>
</listOfReactions></model></sbml>"""


def written(folder: Path, text: str, name: str = "model.sm") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def queues(tmp_path: Path) -> Any:
    return read_prism(written(tmp_path, SHORTEST))


@pytest.mark.slow
def test_a_prism_file_has_the_answer_of_the_same_rules_in_python(queues: Any) -> None:
    answer = stationary(queues)
    python = stationary(explore(shortest_first, start=(0, 0)))
    assert answer.error_bound < 1e-9
    for k in range(2):
        own, other = (found.bound(lambda s, k=k: s[k]) for found in (answer, python))
        assert abs(own.value - other.value) <= own.error + other.error < 1e-6
    jobs, served = answer.bound("jobs"), answer.bound("served")
    assert jobs.value == pytest.approx(answer["jobs"], abs=jobs.error + 1e-9)
    assert abs(served.value - (1.0 - answer.probability(lambda s: s.first == 0))) < 1e-8
    assert answer["idle"] == pytest.approx(answer.probability((0, 0)), abs=1e-15)


@pytest.mark.slow
def test_passages_transients_constants_and_pickles_of_a_file(queues: Any, tmp_path: Path) -> None:
    text = SHORTEST.replace("int;", "[0..60] init 0;")
    text = text.replace("first <= second ->", "first <= second & first < 60 ->")
    text = text.replace("first > second ->", "first > second & second < 60 ->")
    finite = read_prism(written(tmp_path, text, "finite.sm"))
    found, truth = (passage(model, to="idle", start=(4, 0)) for model in (queues, finite))
    assert abs(found.mean - truth.mean) <= found.mean_error + truth.mean_error + 1e-9
    early, long = (transient(model, [3.0]) for model in (queues, finite))
    bound = early.error_bound[0] + long.error_bound[0]
    assert abs(early.probability("idle")[0] - long.probability("idle")[0]) <= bound
    answer = stationary(queues)
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    slow = stationary(read_prism(tmp_path / "model.sm", constants={"arrivals": 0.5}))
    assert slow["idle"] > answer["idle"] + 0.2


@pytest.mark.slow
def test_an_sbml_file_without_limits(tmp_path: Path) -> None:
    """The means are 2 and 6, and there are as many at a time as within limits that are hardly exceeded."""
    model = read_sbml(written(tmp_path, GENE, "gene.xml"))
    answer = stationary(model)
    for name, mean in (("m", 2.0), ("p", 6.0)):
        bound = answer.bound(name)
        assert abs(bound.value - mean) <= bound.error < 1e-6
    limited = transient(read_sbml(tmp_path / "gene.xml", limits=60), [1.0])
    free = transient(model, [1.0])
    states = lambda s: (s.m == 1) & (s.p == 1)
    own, other = free.probability(states)[0], limited.probability(states)[0]
    assert abs(own - other) <= free.error_bound[0] + limited.error_bound[0] + 1e-9
    timed = GENE.replace(
        "</model>",
        """<listOfEvents><event id="e"><trigger><math><apply><geq/>
<csymbol definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol><cn>5</cn></apply></math></trigger>
<listOfEventAssignments><eventAssignment variable="p"><math><cn>0</cn></math></eventAssignment>
</listOfEventAssignments></event></listOfEvents></model>""",
    )
    with pytest.raises(FileError, match="events at given times need limits="):
        read_sbml(written(tmp_path, timed, "timed.xml"))


def test_a_jani_file_with_an_integer_without_bounds(tmp_path: Path) -> None:
    def edge(change: str, rate: float, guard: Any) -> dict[str, Any]:
        value = {"op": change, "left": "n", "right": 1}
        there = {"location": "l", "assignments": [{"ref": "n", "value": value}]}
        return {
            "location": "l", "rate": {"exp": rate}, "guard": {"exp": guard}, "destinations": [there]
        }  # fmt: skip

    queue = {
        "name": "queue",
        "locations": [{"name": "l"}],
        "initial-locations": ["l"],
        "edges": [edge("+", 1.0, True), edge("-", 2.0, {"op": ">", "left": "n", "right": 0})],
    }
    model = {
        "jani-version": 1, "name": "queue", "type": "ctmc", "automata": [queue],
        "system": {"elements": [{"automaton": "queue"}]}, "properties": [],
        "variables": [{"name": "n", "type": "int", "initial-value": 0}],
    }  # fmt: skip
    answer = stationary(read_jani(written(tmp_path, json.dumps(model), "queue.jani")))
    lengths = np.arange(6)
    found = [answer.probability((int(n),)) for n in lengths]
    assert np.abs(found - 0.5 ** (lengths + 1.0)).max() <= answer.error_bound < 1e-9


@pytest.mark.slow
def test_remainders_by_a_constant(tmp_path: Path) -> None:
    """Services take turns: the rate depends on the parity of the queue, and on that of the other one."""
    text = """ctmc
module m
  x : int; y : int;
  [] true -> 1 : (x' = x + 1);
  [] x > 0 -> 2 + mod(x, 2) + mod(x + y, 3) : (x' = x - 1);
  [] true -> 0.5 : (y' = y + 1);
  [] y > 0 -> 1 + floor(mod(y, 4) / 2) : (y' = y - 1);
endmodule
"""
    answer = stationary(read_prism(written(tmp_path, text)))
    finite = text.replace("int;", "[0..60];").replace("true -> 1 ", "x < 60 -> 1 ")
    finite = finite.replace("true -> 0.5", "y < 60 -> 0.5")
    truth = stationary(read_prism(written(tmp_path, finite, "finite.sm")))
    for state in ((0, 0), (1, 2), (3, 1)):
        off = abs(answer.probability(state) - truth.probability(state))
        assert off <= answer.error_bound + truth.error_bound + 1e-13
    assert answer.error_bound < 1e-8


@pytest.mark.parametrize(
    ("rate", "births"),
    [
        ("3 / log(n + 2, 2)", lambda n: 3.0 / np.log2(n + 2.0)), ("3 * pow(0.9, n)", lambda n: 3.0 * 0.9**n),
        ("3 / pow(n + 1, 2)", lambda n: 3.0 / (n + 1.0) ** 2), ("3 * pow(n + 1, -0.5)", lambda n: 3.0 / np.sqrt(n + 1.0)),
        ("3 / pow(1.1, n)", lambda n: 3.0 / 1.1**n), ("3 / (1 + floor(n / 2))", lambda n: 3.0 / (1.0 + n // 2)),
    ],
)  # fmt: skip
def test_functions_whose_rates_tend_to_zero(rate: str, births: Any, tmp_path: Path) -> None:
    """A birth-death chain has a product form."""
    text = f"ctmc module m n : int; [] true -> {rate} : (n' = n + 1); [] n > 0 -> 1 : (n' = n - 1); endmodule"
    answer = stationary(read_prism(written(tmp_path, text)))
    weights = np.append(1.0, np.cumprod(births(np.arange(400.0))))
    found = np.array([answer.probability((n,)) for n in range(6)])
    assert np.abs(found - weights[:6] / weights.sum()).max() <= answer.error_bound + 1e-13 < 1e-7


def test_a_property_without_a_list_of_states_does_not_say_how_many(tmp_path: Path) -> None:
    text = "ctmc module m n : int; [] true -> 1 : (n' = n + 1); [] n > 0 -> 2 : (n' = n - 1); endmodule"
    found = read_prism(written(tmp_path, text)).property("S=? [ n = 0 ]")
    assert found.value == pytest.approx(0.5, abs=1e-8)
    assert str(found.summary()["states"]).startswith("infinitely many, or too many for a list")


def test_what_needs_a_list_of_states_names_the_way_out(queues: Any, tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="infinitely many states, which stationary"):
        queues.chain  # noqa: B018
    with pytest.raises(FileError, match="infinitely many, or too many for a list"):
        queues.property("filter(max, P=? [ F<=1 first = 2 ])")
    text = SHORTEST.replace("-> arrivals : (first'", "-> 1 + mod(7, first + 1) : (first'")
    hidden = read_prism(written(tmp_path, text, "hidden.sm"), most=3_000)
    with pytest.raises(TooLargeError):
        hidden.chain  # noqa: B018
    below = read_prism(written(tmp_path, SHORTEST.replace("first > 0", "first > -1"), "below.sm"))
    with pytest.raises(TooLargeError, match="infinitely many states"):
        below.chain  # noqa: B018
    bad = SHORTEST.replace("second > 0 -> 1", "second > 0 -> 3 - second")
    with pytest.raises((FileError, TooLargeError, ValueError), match=r"rate|negative"):
        stationary(read_prism(written(tmp_path, bad, "bad.sm"), most=3_000))


def test_rates_that_tend_to_zero_are_positive(tmp_path: Path) -> None:
    """Discouraged arrivals: pi is Poisson with mean 1.5; the states were listed for minutes before."""
    path = tmp_path / "m.sm"
    path.write_text(
        "ctmc module q n : int init 0;\n"
        "[] true -> 1.5 / (n + 1) : (n' = n + 1); [] n > 0 -> 1 : (n' = n - 1); endmodule"
    )
    answer = stationary(read_prism(path))
    assert abs(answer.probability((0,)) - np.exp(-1.5)) <= answer.error_bound + 1e-15
    assert answer.error_bound < 1e-12
    for rate in (3.0 * 0.9 ** np.arange(400.0), 0.5 ** np.arange(400.0)):
        path.write_text(path.read_text().replace("1.5 / (n + 1)", "3 * pow(0.9, n)"))
        if rate[0] == 1.0:
            path.write_text(path.read_text().replace("3 * pow(0.9, n)", "pow(0.5, n)"))
        answer = stationary(read_prism(path))
        assert answer.lyapunov
        empty = 1.0 / np.append(1.0, np.cumprod(rate)).sum()
        assert abs(answer.probability((0,)) - empty) <= answer.error_bound + 1e-14 < 1e-9
