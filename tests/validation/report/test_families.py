"""Similar claims."""

from __future__ import annotations

from validation.claims import ledger
from validation.report.families import common_caption, grouped, panels
from validation.report.rows import sources_of, verdict_of


def rows() -> list[dict]:
    return [
        {"id": id, "pictures": [{"caption": f"Run {id}: means over the seeds, 95 %."}]}
        for id in ledger()
        if id.startswith("D")
    ]


def test_scenarios_of_one_check_are_a_family() -> None:
    """takano2006's Figs. 6 to 11, six speeds, and Figs. 14 to 17, four variants."""
    found = [[row["id"] for row in family] for family in grouped(rows())]
    assert ["D04", "D05", "D06", "D07", "D08", "D09"] in found
    assert ["D12", "D13", "D14", "D15"] in found
    assert sum(map(len, found)) == len(rows())
    assert found == sorted(found)


def test_a_family_has_one_figure_with_panels() -> None:
    family = next(family for family in grouped(rows()) if len(family) == 6)
    (figure,) = panels(family)
    assert [row["id"] for row, _ in figure] == ["D04", "D05", "D06", "D07", "D08", "D09"]
    assert (
        common_caption(figure)
        == "Means over the seeds, 95 %. D09: Run D09: means over the seeds, 95 %."
    )
    assert panels(family[:1]) == []


def test_columns_of_a_family_are_those_with_evidence() -> None:
    """No column of ns-3 for claims that ns-2 and the model judge."""
    none = "not applicable"
    pair = [
        {"model": none, "simulators": {"ns-2": "holds"}, "packet_level": none},
        {"model": "holds", "simulators": {}, "packet_level": none},
    ]
    assert [source for source, _ in sources_of(pair)] == ["model", "ns-2"]
    assert verdict_of(pair[1], "ns-2") == none
    assert sources_of(pair[:0]) == []


def test_captions_without_a_common_end_are_all_shown() -> None:
    pair = [({"id": "A"}, {"caption": "One."}), ({"id": "B"}, {"caption": "Other."})]
    assert common_caption(pair) == "A: One. B: Other."
