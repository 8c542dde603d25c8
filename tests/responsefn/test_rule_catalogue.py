"""What is in the catalogue."""

from __future__ import annotations

from responsefn import (
    NewReno,
    Reno,
    catalogue,
)


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
        "LinuxBIC",
        "LinuxHTCP",
        "LinuxIllinois",
        "LinuxScalable",
        "LinuxVegas",
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
