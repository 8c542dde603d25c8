"""What is in the catalogue."""

from __future__ import annotations

import json

import pytest

from responsefn import NewReno, NS2Vegas, Reno, catalogue
from tests.surface import invoke


def test_catalogue():
    table = catalogue()
    names = {type(entry).__name__ for entry in table.entries}
    assert names == {
        "Tahoe",
        "Reno",
        "NewReno",
        "AIMD",
        "Vegas",
        "HSTCP",
        "Scalable",
        "BIC",
        "CUBIC",
        "HTCP",
        "Illinois",
        "Westwood",
        "ARENO",
        "CTCP",
        "FAST",
        "Fusion",
        "Relentless",
        "DCQCN",
        "DCTCP",
        "TIMELY",
        "PatchedTIMELY",
        "HPCC",
        "FixedRate",
        "BBR",
        "BBRv1",
        "LEDBAT",
        "Copa",
        "Swift",
        "Vivace",
        "Allegro",
        "NSCC",
        "Prague",
        "LinuxBIC",
        "LinuxCUBIC",
        "LinuxHSTCP",
        "LinuxHTCP",
        "LinuxIllinois",
        "LinuxScalable",
        "LinuxVegas",
        "LinuxCDG",
        "LinuxHybla",
        "LinuxLP",
        "LinuxNV",
        "LinuxVeno",
        "LinuxYeAH",
        "QUICNewReno",
        "ChromiumCUBIC",
        "ABE",
        "LEDBATpp",
        "SEARCH",
        "WestwoodPlus",
        "TFRC",
        "PFTK",
        "Mathis",
    }
    assert all("source: " in entry.cite() for entry in table.entries)
    assert {type(entry).__name__ for entry in catalogue("law").entries} == {
        "TFRC",
        "PFTK",
        "Mathis",
    }
    page = table._repr_html_()
    assert page.count("<tr>") == len(table.entries) + 1
    assert r"\sqrt" in page
    assert "numerical cycle" in repr(table)
    assert NewReno().cite() != Reno().cite()


def test_rules_of_operating_systems_repair_losses_by_sack() -> None:
    """Linux and Windows have SACK switched on; RFC 6675 is one of RFC 9438's recoveries. Others say so themselves."""
    kinds = {type(entry) for entry in catalogue().entries if hasattr(entry, "recovery")} | {
        NS2Vegas
    }
    others = {kind.__name__: kind.recovery for kind in kinds if kind.recovery != "sack"}
    assert others == {
        "Tahoe": "tahoe", "Reno": "reno",
        **dict.fromkeys(("NewReno", "AIMD", "Vegas", "NS2Vegas", "Westwood", "FAST", "ARENO", "Fusion"), "newreno"),
    }  # fmt: skip
    of_systems = {
        "CUBIC",
        "BIC",
        "HSTCP",
        "Scalable",
        "HTCP",
        "Illinois",
        "CTCP",
        "DCTCP",
        "LinuxCUBIC",
        "LinuxVegas",
    }
    assert of_systems <= {kind.__name__ for kind in kinds}


def test_rules_are_found_by_the_names_of_their_classes() -> None:
    for entry in catalogue().entries:
        name = type(entry).__name__
        command = ["response", name.lower(), "--p", "0.01", "--rtt", "40ms", "--bandwidth", "1Mbps"]
        found = invoke([*command, "--json"])
        if found.exit_code == 0:
            assert list(json.loads(found.stdout)["rate"]) == [repr(type(entry)())], name
        else:
            assert str(found.exception).startswith(repr(type(entry)())), name
    with pytest.raises(ValueError, match=r"^rule = 'rno': .*such as 'reno'"):
        invoke(["response", "rno"], catch_exceptions=False)
