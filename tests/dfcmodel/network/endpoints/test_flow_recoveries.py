"""How flows repair losses, in summaries and comparisons."""

from __future__ import annotations

from dfcmodel import Flow, Scenario, chain, compare, ensemble, simulate
from dfcmodel.network.endpoints.flow_recoveries import by_recovery, recoveries_differ, repairs_of
from responsefn import CUBIC, NewReno

PATH = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "runs": 1}


def test_names_are_listed_up_to_three_where_recoveries_differ() -> None:
    links = [Flow(f"{n}", (1, 2), NewReno()) for n in range(6)]
    kinds = ["sack"] * 5 + ["newreno"]
    assert repairs_of(links, kinds) == "sack: 0, 1, 2 and 2 others; newreno: 5"
    assert repairs_of(links, ["sack"] * 5 + [""]) == ""
    assert not recoveries_differ([])
    assert by_recovery("ab", ["", "sack"]) == "sack: b"


def test_recoveries_are_said_where_flows_differ() -> None:
    """In summaries of runs and ensembles, side by side, and of rules, which all have the path's."""
    links = chain(2, rate=1e3, delay=1e-2, buffer=20)

    def flows(*rules):
        return Scenario(
            "s", links, [Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules)], 1.0
        )

    differ = simulate(flows(NewReno(), CUBIC()), level="packets", packet_jitter="1pkt")
    assert str(differ.summary()["0"]).startswith("NewReno with recovery 'newreno': ")
    assert str(differ.summary()["1"]).startswith("CUBIC with recovery 'sack': ")
    same = simulate(flows(CUBIC(), CUBIC()), level="packets")
    assert str(same.summary()["0"]).startswith("CUBIC: ")
    columns = list(compare(differ, same).columns.values())
    assert [column.get("recovery") for column in columns] == ["newreno: 0; sack: 1", None]
    many = ensemble(flows(NewReno(), CUBIC()), 2, duration=0.5, level="fluid")
    assert many.summary()["recovery"] == "newreno: 0; sack: 1"
    assert " of the slowest link, " in str(many.summary()["0"])
    assert (
        "recovery"
        not in ensemble(flows(CUBIC(), CUBIC()), 2, duration=0.5, level="fluid").summary()
    )
    rules = str(compare(NewReno(), CUBIC(), **PATH).summary()["recovery"])
    assert rules.startswith("sack for all; ")
    assert "newreno: NewReno()" in rules
    assert "sack: CUBIC()" in rules
    alone = compare(CUBIC(), CUBIC(beta=0.5), **PATH).summary()["recovery"]
    assert alone == "sack, that of each rule"
    own = compare(NewReno(), CUBIC(), **PATH, recovery="rack").summary()["recovery"]
    assert str(own).startswith("rack for all")
