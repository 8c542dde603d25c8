"""coexist_sweep: each run is that of its path alone, whoever computes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dfcmodel import coexist_sweep
from dfcmodel.sharing.bottlenecks import Bottleneck
from responsefn import CUBIC, NewReno, Reno

RULES = [NewReno(), CUBIC()]
PATH = {"bandwidth": 500.0, "rtt": [0.02, 0.05], "buffer": [10, 20], "duration": 5.0, "runs": 2}


@pytest.fixture(scope="module")
def found():
    return coexist_sweep(RULES, **PATH)


def test_a_run_is_that_of_its_path(found):
    assert dict(found.rate.sizes) == {"rtt": 2, "buffer": 2, "run": 2, "flow": 2}
    path = Bottleneck(500.0, 0.05, 10, duration=5.0, warm_up=1.0)
    for run in (0, 1):
        alone = path.run(RULES, seed=run)
        point = found.sel(rtt=0.05, buffer=10, run=run)
        np.testing.assert_array_equal(point.rate, alone.rate)
        np.testing.assert_array_equal(point.loss_ratio, alone.loss)
        np.testing.assert_array_equal(point.timeouts, alone.timeouts)
        assert float(point.delay) == alone.delay
        assert float(point.jain) == alone.jain
    assert found.rate.attrs["units"] == "packets/s"
    assert found.rtt.attrs["units"] == "s"
    assert found.attrs["bandwidth"] == "500.0"
    np.testing.assert_allclose(found.share.sum("flow"), 1.0, rtol=1e-12)


def test_the_executor_changes_nothing(found):
    with ThreadPoolExecutor(2) as pool:
        assert found.identical(coexist_sweep(RULES, executor=pool, **PATH))


def test_units_and_flows_of_one_rule():
    texts = {"bandwidth": ["6Mbps"], "rtt": "20ms", "buffer": "10pkt", "duration": "5s"}
    found = coexist_sweep([Reno(), Reno()], runs=1, **texts)
    assert found.bandwidth.values.tolist() == [500.0]
    assert found.flow.values.tolist() == ["1 Reno()", "2 Reno()"]
    alone = Bottleneck(500.0, 0.02, 10, duration=5.0, warm_up=1.0).run([Reno()] * 2, seed=0)
    np.testing.assert_array_equal(found.rate.values.ravel(), alone.rate)


def test_a_store_keeps_the_runs(found, tmp_path):
    pytest.importorskip("zarr", reason="needs hopflow[scale]")
    kept = coexist_sweep(RULES, store=tmp_path / "paths.zarr", **PATH)
    for name in found.data_vars:
        np.testing.assert_array_equal(kept[name], found[name])
    with pytest.raises(ValueError, match=r"seed: 0 there, 7 here$"):
        coexist_sweep(RULES, store=tmp_path / "paths.zarr", seed=7, **PATH)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bandwidth": [500.0, -1.0]}, "^bandwidth = -1"),
        ({"rtt": []}, r"^rtt = \[\]: at least one value"),
        ({"buffer": [0]}, "^buffer = 0"),
        ({"loss": 1.5}, r"^loss = 1\.5"),
        ({"runs": 0}, "^runs = 0"),
        ({"duration": -1.0}, "^duration = -1"),
        ({"duration": 1e-3}, r"^duration = 0\.001: with warm_up"),
    ],
)
def test_wrong_values_are_refused_before_any_run(changed, said, monkeypatch):
    monkeypatch.delattr(Bottleneck, "run")
    with pytest.raises(ValueError, match=said):
        coexist_sweep(RULES, **(PATH | changed))


def test_what_is_no_rule_is_refused():
    with pytest.raises(TypeError, match=r"^rules\[0\] = 'reno': must be a window rule"):
        coexist_sweep(["reno"], **PATH)
    with pytest.raises(TypeError, match=r"^rules = 3: must be a list"):
        coexist_sweep(3, **PATH)
    with pytest.raises(ValueError, match="number of rules = 0"):
        coexist_sweep([], **PATH)
