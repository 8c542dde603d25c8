"""One chain over devices and processes: the same numbers as on one, and as by a matrix."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import NamedTuple

import jax
import numpy as np
import pytest

from markov import ChainModel, MarkovChain, Multilevel, PauseTandem, stationary
from markov import stationary_sharded as solve
from markov.errors import ConvergenceError, RuleError
from markov.sharding import host_device_flags
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import Tandem

MODEL = "PauseTandem(buffers=(24, 24), high_threshold=18, arrival_rates=(25.0, 10.0, 1.0))"

DEVICES = f"""
import sys
import jax, numpy as np
from markov import PauseTandem, stationary_sharded

found = {{}}
for count in (1, 2, 4):
    answer = stationary_sharded({MODEL}, devices=jax.devices()[:count])
    found[f"pi{{count}}"] = answer.pi
    found[f"mean{{count}}"] = answer.mean(lambda s: s.j)
    found[f"bound{{count}}"] = answer.error_bound
    shards = answer.values.addressable_shards
    assert len({{shard.device for shard in shards}}) == count
    assert all(shard.data.shape[0] * count == answer.values.shape[0] for shard in shards)
np.savez(sys.argv[1], **found)
"""

PROCESSES = f"""
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import numpy as np
from markov import PauseTandem, stationary_sharded

assert jax.process_count() == 2 and len(jax.devices()) == 2
answer = stationary_sharded({MODEL})
assert not answer.values.is_fully_addressable
pi, mean, bound = answer.pi, answer.mean(lambda s: s.j), answer.error_bound
if jax.process_index() == 0:
    np.savez(sys.argv[3], pi=pi, mean=mean, bound=bound, cycles=answer.cycles)
"""


def environment(devices):
    return {**os.environ, "XLA_FLAGS": host_device_flags(devices), "JAX_PLATFORMS": "cpu"}


@pytest.fixture(scope="module")
def by_devices(tmp_path_factory):
    file = tmp_path_factory.mktemp("devices") / "found.npz"
    subprocess.run([sys.executable, "-c", DEVICES, str(file)], env=environment(4), check=True)
    return np.load(file)


@pytest.fixture(scope="module")
def reference():
    """By another method, over the whole space."""
    model = eval(MODEL, {"PauseTandem": PauseTandem})
    chain = MarkovChain(model)
    answer = stationary(chain)
    space, _ = stencil_of(model)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(chain.states))] = answer.pi
    return pi, float(answer.pi @ chain.states.j)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_devices_change_nothing(by_devices, reference, count):
    pi, mean = reference
    found = by_devices[f"pi{count}"]
    np.testing.assert_allclose(found, by_devices["pi1"], rtol=0, atol=1e-12)
    assert abs(found - by_devices["pi1"]).sum() < 1e-12
    assert abs(found - pi).sum() < 1e-9  # the residual is 1e-12, and the chain mixes slowly
    assert float(by_devices[f"mean{count}"]) == pytest.approx(mean, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_devices_do_not_change_the_bound(by_devices, reference, count):
    """It holds, and is that of one device: both sum the same residual, each with roundings of its own."""
    pi, _ = reference
    bound = float(by_devices[f"bound{count}"])
    assert 0.5 * abs(by_devices[f"pi{count}"] - pi).sum() <= bound < 1e-8
    assert abs(bound - float(by_devices["bound1"])) < 1e-12


@pytest.mark.slow
def test_two_processes_change_nothing(by_devices, tmp_path):
    """Joined over the loopback interface, with collectives by gloo."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    file = tmp_path / "found.npz"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESSES, address, str(n), str(file)], env=environment(1)
        )
        for n in range(2)
    ]
    try:
        assert [process.wait(1800) for process in started] == [
            0,
            0,
        ]  # 40 s of CPU time, on a busy machine minutes
    finally:
        for process in started:
            process.kill()
    found = np.load(file)
    assert abs(found["pi"] - by_devices["pi1"]).sum() < 1e-12
    assert float(found["mean"]) == pytest.approx(float(by_devices["mean1"]), rel=1e-12)
    assert abs(float(found["bound"]) - float(by_devices["bound1"])) < 1e-12


@pytest.mark.slow
def test_a_chain_without_a_start_and_few_cycles():
    model = Tandem()
    answer = solve(model)
    expected = stationary(model, Multilevel())
    np.testing.assert_allclose(answer.pi, expected.pi, rtol=0, atol=1e-11)
    assert "spread along" in repr(answer)
    with pytest.raises(ConvergenceError) as failed:
        solve(model, max_cycles=1)
    assert failed.value.result.cycles == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"model": 3}, "^model = 3: must be a ChainModel"),
        ({"tolerance": 0.0}, "^tolerance = 0"),
        ({"max_cycles": 0}, "^max_cycles = 0"),
        ({"devices": jax.devices() * 100}, "^devices: 100 are too many for 21 values"),
        ({"devices": [0]}, r"^devices\[0\] = 0: must be a jax.Device"),
        ({"devices": []}, "^devices: at least one"),
        ({"on_failure": "stop"}, "^on_failure = 'stop'"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises((ValueError, TypeError), match=said):
        solve(**{"model": PauseTandem(), **arguments})


class Switch(ChainModel):
    """Two states: fewer than multigrid needs."""

    class State(NamedTuple):
        on: int

    def space(self):
        return {"on": range(2)}

    @staticmethod
    def rules(s, q):
        if s.on:
            yield s._replace(on=0), 1.0
        if not s.on:
            yield s._replace(on=1), 2.0


def test_two_states_and_one():
    assert solve(Switch()).pi.tolist() == pytest.approx([1 / 3, 2 / 3], rel=1e-12)

    class Stuck(Switch):
        def space(self):
            return {"on": range(1)}

    with pytest.raises(RuleError, match=r"Stuck: .*"):
        solve(Stuck())
