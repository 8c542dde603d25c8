"""Link-level retry: the chain of slots against a simulation with sequence numbers, and the replay buffer."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.lossless import ErrorBursts, link_retry


def simulated(slots: int, timer: int, p: float, lost: float, rng: np.random.Generator, frames: int) -> float:
    """Return the frames delivered in order per slot of a sender and a receiver with sequence numbers."""
    following, expected = 0, 0
    requests: dict[int, int] = {}  # slot at which the sender goes back: to which frame
    asked = False
    for slot in range(frames):
        if slot in requests:
            following, asked = requests.pop(slot), False
        number = following
        following += 1
        if rng.random() < p:
            continue
        if number == expected:
            expected += 1
        elif number > expected and not asked:
            asked = True
            wait = timer if rng.random() < lost else slots
            requests[slot + wait] = expected
    return expected / frames


@pytest.mark.parametrize(("p", "lost"), [(0.002, 0.0), (0.02, 0.0), (0.01, 0.2), (0.3, 0.1)])
def test_the_chain_has_the_throughput_of_a_sender_that_goes_back(p: float, lost: float) -> None:
    link = link_retry("100Gbps", "100m", 1500, timer="20us", request_loss=lost)
    rng = np.random.default_rng(7)
    runs = [simulated(link.slots, link.timer, p, lost, rng, 20_000) for _ in range(20)]
    error = np.std(runs, ddof=1) / len(runs) ** 0.5
    assert link.throughput(p) == pytest.approx(np.mean(runs), abs=4.0 * error + 1e-3)  # 1e-3: the last loop


def test_independent_errors_have_the_closed_form() -> None:
    """A delivered frame costs a slot, a lost one those until it is noticed and the loop."""
    link = link_retry("400Gbps", "300m", 4096)
    for p in (1e-6, 1e-3, 0.1):
        exact = (1 - p) / (1 + p * (1 / (1 - p) + link.slots - 1))
        assert link.throughput(p) == pytest.approx(exact, rel=1e-9)
    assert link.throughput(0.0) == pytest.approx(1.0, rel=1e-12)


def test_bursts_of_errors_cost_less_than_the_same_losses_spread() -> None:
    link = link_retry("400Gbps", "300m", 4096)
    bursts = ErrorBursts(1e-6, 0.5, begins=1e-4, ends=0.05)
    assert link.throughput(bursts.mean) < link.throughput(bursts) < 1.0


def test_the_replay_buffer_holds_the_frames_of_a_loop() -> None:
    link = link_retry("400Gbps", "300m", 4096)
    loop_bytes = 2 * 300 * 5e-9 * 400e9 / 8 + 4096 + 20 + 72 + 4096
    assert link.replay_bytes == pytest.approx(loop_bytes, abs=2 * 4096)
    assert link_retry("400Gbps", "300m", 4096, behind_frame=False).replay_bytes < link.replay_bytes
    assert "replay buffer" in repr(link)
    assert link.plot().get_ylabel() == "throughput"
