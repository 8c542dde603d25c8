"""Runs side by side: table, figure, animation, arrays."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from dfcmodel import CBR, Flow, Packets, Scenario, chain, compare, simulate, takano2006


@pytest.fixture(scope="module")
def found(run):
    return compare(run, dfc=simulate(takano2006("1"), duration=0.15, sample=5e-3, level="fluid"))


@pytest.fixture(scope="module")
def other():
    links = chain(3, rate=1e4, delay=1e-3, buffer=20)
    scenario = Scenario("other", links, [Flow("a", (1, 2, 3), CBR(2e4))], duration=0.05)
    return simulate(scenario, method=Packets(seed=1))


def test_the_table_has_the_measures_of_each_run(found, run) -> None:
    rows = found.summary()
    name, first = next(iter(rows.items()))
    assert name == "goodput of target (packets/s)"
    goodput = {label: float(one.measures.goodput[0]) for label, one in found.compared.items()}
    assert first == {label: f"{each:.4g}" for label, each in goodput.items()}
    assert rows["lost (packets)"] == {"takano2006/1": f"{run.lost.sum():.0f}", "dfc": "0"}
    assert "<td" in found._repr_html_()


def test_arrays_of_a_run_are_its_own(found, run) -> None:
    data = found.to_xarray()
    assert data.occupancy.dims == ("run", "node", "time")
    np.testing.assert_array_equal(data.occupancy.sel(run="takano2006/1"), run.queued)


def test_the_animation_has_a_panel_for_each_run(found, tmp_path) -> None:
    film = found.animate(frames=2)
    alone = found.compared["dfc"].animate(frames=2)
    with (
        Image.open(film.save(tmp_path / "two.gif")) as two,
        Image.open(alone.save(tmp_path / "one.gif")) as one,
    ):
        assert two.n_frames == one.n_frames == 2
        assert two.height > 1.5 * one.height


def test_panels_have_common_scales(found, run) -> None:
    ax = found.plot()
    panels = [each for each in ax.figure.axes if each.images]
    assert {each.images[0].get_clim() for each in panels} == {(0.0, run.queued.max())}


def test_runs_of_other_scenarios_have_a_table_but_no_common_axis(found, other, run) -> None:
    mixed = compare(run, other)
    assert mixed.summary()["goodput of target (packets/s)"]["other"] == "-"
    assert mixed.plot() is not None
    with pytest.raises(ValueError, match="other: has other nodes"):
        mixed.animate()
    with pytest.raises(ValueError, match="LABEL"):
        mixed.to_xarray()
