"""Recorded arrays as netCDF."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from dfcmodel import Trajectory
from dfcmodel.network.toml_reading import read_scenario


def renamed(run: Trajectory, *nodes: object) -> Trajectory:
    """The same trajectory with other names for its nodes; the last ones stay."""
    scenario = run.scenario
    names = {**{n: n for n in scenario.nodes}, **dict(zip(scenario.nodes, nodes, strict=False))}
    links = [replace(x, source=names[x.source], target=names[x.target]) for x in scenario.links]
    flows = [replace(x, path=[names[node] for node in x.path]) for x in scenario.flows]
    return replace(run, scenario=replace(scenario, links=links, flows=flows))


@pytest.mark.parametrize("nodes", [(), ("a", "b"), ((0, 0), (0, 1)), [str(n) for n in range(30)]])
def test_netcdf_gives_back_what_was_recorded(run, nodes, tmp_path) -> None:
    """Nodes may be numbers, texts, pairs, or mixed."""
    named = renamed(run, *nodes)
    assert list(named.to_xarray()["node"].values) == list(named.scenario.senders)
    with xr.open_dataset(named.to_netcdf(tmp_path / "new" / "run.nc")) as data:
        for name, values in named.to_xarray().data_vars.items():
            np.testing.assert_array_equal(data[name].values, values.values)
            assert data[name].attrs == values.attrs
        assert list(data["flow"].values) == ["target", "background"]
        assert [str(n) for n in data["node"].values] == [str(n) for n in named.scenario.senders]
        assert read_scenario(data.attrs["toml"]) == named.scenario
