"""Measures over a range of parameters."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from hopflow import NotSolvedError
from markov import PauseTandem, Power, SparseLU, best, explore, passage, read_prism, stationary, sweep
from tests.dask_clusters import dask_client


def test_sweep():
    data = sweep(PauseTandem(), high_threshold=range(14, 17), rtt=[0.5, 2.0])
    assert data.sizes == {"high_threshold": 3, "rtt": 2, "queue": 2, "expression": 3}
    assert data.throughput.dims == ("high_threshold", "rtt")
    for high in (14, 15, 16):
        for rtt in (0.5, 2.0):
            answer = stationary(PauseTandem(high_threshold=high, rtt=rtt))
            point = data.sel(high_threshold=high, rtt=rtt)
            assert float(point.throughput) == answer.throughput
            assert float(point.error_bound) == answer.error_bound
            np.testing.assert_array_equal(point.mean_queue, answer["mean_queue"])
    assert data.throughput.attrs["units"] == "packets/s"
    assert data.attrs["model"] == "PauseTandem()"
    highest = data.throughput.idxmax("high_threshold")
    assert highest.dims == ("rtt",)


def test_sweep_of_a_chain_without_end():
    """Measures of a queue that explore found infinite: they were refused, as lists of its states are."""

    def queue(n, q):
        yield n + 1, q.a
        if n:
            yield n - 1, q.b

    chain = explore(queue, start=0, params={"a": 1.0, "b": 2.0}, labels=lambda n: {"empty": n == 0})
    found = sweep(chain, a=[1.0, 1.5], b=[2.0, 3.0])
    assert np.abs(found["empty"].values - [[1 / 2, 2 / 3], [1 / 4, 1 / 2]]).max() <= found["error_bound"].max() + 1e-15
    assert best(chain, "a", among=[1.0, 1.5], minimize="empty").value == 1.5


def test_sweep_of_the_constants_of_a_file(tmp_path):
    """With one more customer allowed there are n + 1 states; constants that depend on a swept one follow it."""
    path = tmp_path / "queue.sm"
    path.write_text(
        "ctmc const int N; const double load = 0.5; const double arrival = 10 * load;\n"
        "module q n : [0..N]; [] n < N -> arrival : (n' = n + 1); [] n > 0 -> 10 : (n' = n - 1); endmodule\n"
        'label "full" = n = N; rewards "n" true : n; endrewards\n'
    )
    model = read_prism(path, constants={"N": 1})
    for swept in (model, model.chain):
        data = sweep(swept, N=[1, 2], load=[0.5, 2.0])
        np.testing.assert_allclose(data.full, [[1 / 3, 2 / 3], [1 / 7, 4 / 7]], rtol=1e-14)
        np.testing.assert_allclose(data.n, [[1 / 3, 2 / 3], [4 / 7, 10 / 7]], rtol=1e-14)
    found = sweep(passage(model, to="full"), load=[0.5, 2.0])
    np.testing.assert_allclose(found["mean"], [1 / 5, 1 / 20], rtol=1e-14)
    with pytest.raises(ValueError, match="M: thing = FileModel has no such parameter, but N, load, arrival"):
        sweep(model, M=[1])


def test_sweep_of_other_values():
    rates = [(25.0, 1.0), (25.0, 10.0, 1.0)]
    data = sweep(PauseTandem(), arrival_rates=rates, recovery=["always", "up"], method=SparseLU())
    assert data.throughput.shape == (2, 2)
    assert data.arrival_rates.values.tolist() == rates
    assert data.recovery.values.tolist() == ["always", "up"]
    whole = stationary(PauseTandem(arrival_rates=rates[1], recovery="up"), SparseLU())
    assert float(data.throughput[1, 1]) == whole.throughput
    none = sweep(PauseTandem(), low_threshold=[None, 5])
    assert none.throughput.shape == (2,)


def test_strings_are_swept_in_the_unit_of_their_parameter() -> None:
    """A number of s by which to interpolate and select, the same as each call with the string."""
    data = sweep(PauseTandem(), rtt=["500ms", "2s", 10], link_rate=["1.2Mbps", "200 packets/s"])
    assert data.rtt.dtype == data.link_rate.dtype == np.float64
    assert data.rtt.values.tolist() == [0.5, 2.0, 10.0]
    assert data.link_rate.values.tolist() == [100.0, 200.0]
    assert (data.rtt.attrs["units"], data.link_rate.attrs["units"]) == ("s", "packets/s")
    for text, rtt in (("500ms", 0.5), ("2s", 2.0), (10, 10.0)):
        one = stationary(PauseTandem(rtt=text, link_rate="1.2Mbps")).throughput
        assert float(data.throughput.sel(rtt=rtt, link_rate=100.0)) == one
    assert data.throughput.interp(rtt=1.0).notnull().all()
    amounts = sweep(PauseTandem(), buffers=[("5pkt", "20pkt"), [10, 20]], recovery=["up"])
    assert amounts.buffers.values.tolist() == [(5, 20), (10, 20)]
    assert amounts.recovery.values.tolist() == ["up"]


def agree(one, other):
    """Whether measures differ by no more than the bounds of both in total variation allow.

    A measure is the mean of a function of the state; those here are at most 1000 in size.
    """
    bounds = one.error_bound + other.error_bound
    return one.sizes == other.sizes and all(
        bool((abs(one[name] - other[name]) <= 2000.0 * bounds + 1e-13).all())
        for name in one.data_vars
        if name not in ("residual", "error_bound")
    )


def test_sweep_on_an_executor():
    swept = {"high_threshold": range(14, 17), "rtt": [0.5, 2.0]}
    with ThreadPoolExecutor(2) as pool:
        assert agree(sweep(PauseTandem(), executor=pool, **swept), sweep(PauseTandem(), **swept))


MODEL = '''
import os, signal
from pathlib import Path
from typing import NamedTuple
from markov import ChainModel

class Queue(ChainModel):
    """M/M/1/10 whose second point kills the process that computes it, the first time."""

    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        load: float = 0.5
        folder: str = ""

    def start(self):
        return (0,)

    @staticmethod
    def rules(s, q):
        if q.load == 0.5 and q.folder and not Path(q.folder, "died").exists():
            Path(q.folder, "died").mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
        if s.n < 10:
            yield (s.n + 1,), q.load
        if s.n > 0:
            yield (s.n - 1,), 1.0

    def rewards(self, s):
        return {"customers": s.n}
'''


@pytest.mark.slow
def test_sweep_over_processes_of_which_one_dies(tmp_path, monkeypatch):
    (tmp_path / "hopflow_queue.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    from hopflow_queue import Queue

    loads = [0.25, 0.5, 0.75, 0.9]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        found = sweep(Queue(folder=str(tmp_path)), load=loads, executor=pool)
    assert (tmp_path / "died").is_dir()
    n = np.arange(11)
    exact = [(n * load**n).sum() / (load**n).sum() for load in loads]
    np.testing.assert_allclose(found.customers, exact, rtol=1e-12)


@pytest.mark.slow
def test_sweep_on_dask_into_a_store(tmp_path):
    pytest.importorskip("zarr", reason="needs hopflow[scale]")
    swept = {"high_threshold": range(10, 19), "rtt": np.linspace(0.5, 3.0, 6)}
    alone = sweep(PauseTandem(), **swept)
    with dask_client() as client:
        store = tmp_path / "pause.zarr"
        found = sweep(PauseTandem(), executor=client.get_executor(), store=store, **swept)
        assert agree(alone, found.load())


def test_an_error_on_a_worker_comes_back():
    with ThreadPoolExecutor(1) as pool, pytest.raises(NotSolvedError) as failed:
        sweep(PauseTandem(), method=Power(max_iterations=5), rtt=[1.0], executor=pool)
    again = pickle.loads(pickle.dumps(failed.value))
    assert again.result.status is failed.value.result.status
