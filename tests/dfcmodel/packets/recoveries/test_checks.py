"""Checks of a recovery, and its compilation."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from dfcmodel import Packets, simulate
from dfcmodel.packets.kernel.layout import FLOW, MAX_OWN
from dfcmodel.packets.kernel.tcp import recovery as kernel
from dfcmodel.packets.recoveries import RECOVERIES
from dfcmodel.packets.recoveries.base import ACTIONS, EVENTS, MAX_OWN_FIELDS, check_recovery
from dfcmodel.packets.recoveries.compilation import EXCHANGED, recovery_events
from dfcmodel.recoveries import LossRecovery, reduce_window
from responsefn.errors import RuleError
from tests.oracles.engines import plain_simulate

# Checks of recoveries: what a function may return, in samples and in a run, with the same words in both engines.


def with_duplicates(function: Any) -> type[LossRecovery]:
    """Return a recovery with a function for duplicate ACKs."""
    return type("Made", (LossRecovery,), {"on_duplicate_ack": staticmethod(function)})


def no_return(s: Any, e: Any) -> Any:
    """Forget to return."""


def no_number(s: Any, e: Any) -> Any:
    """Return what is no number."""
    return s._replace(pipe=s.pipe * float("nan"))


def moves(s: Any, e: Any) -> Any:
    """Set what the engine keeps."""
    return s._replace(snd_una=s.snd_una + 1.0)


@pytest.mark.parametrize(
    ("function", "said"),
    [(no_return, "Made.on_duplicate_ack returns None at snd_una = 1"), (no_number, "returns pipe = nan at"),
     (moves, "sets snd_una, which is read only")],
)  # fmt: skip
def test_wrong_results_are_found_in_samples(function: Any, said: str) -> None:
    with pytest.raises(RuleError, match=said) as raised:
        check_recovery(with_duplicates(function))
    assert str(raised.value.file).endswith("test_checks.py")


def beyond(s: Any, e: Any) -> Any:
    """Send what was never sent again."""
    if s.dupacks == 3.0:
        s = reduce_window(s)
        return s._replace(resend=s.snd_max + 7.0)
    return s


def divided(s: Any, e: Any) -> Any:
    """Divide by what is 0 in the run, and not in all samples."""
    return s._replace(pipe=(s.sacked - s.sacked) / s.sacked)


@pytest.mark.parametrize(("function", "said"), [(beyond, "resend = "), (divided, "pipe = nan: must be from")])
@pytest.mark.slow
def test_a_run_ends_at_the_first_wrong_result(one_link, function: Any, said: str) -> None:
    made = with_duplicates(function)()
    with pytest.raises(RuleError, match=said) as compiled:
        simulate(one_link, Packets(seed=1, recovery=made))
    assert "one link, t = 0" in str(compiled.value)
    assert "flow 'flow'" in str(compiled.value)
    expected = ZeroDivisionError if function is divided else RuleError
    with pytest.raises(expected) as plain:
        plain_simulate(one_link, Packets(seed=1, recovery=made))
    if expected is RuleError:
        assert str(plain.value) == str(compiled.value)


# Recoveries called by address: compiled functions give what plain Python gives, bit for bit.

CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_double] * 4)


def test_the_kernel_has_the_places_of_actions_and_functions() -> None:
    for place, name in enumerate(ACTIONS, start=kernel.RESEND):
        assert getattr(kernel, name.upper()) == place, name
    assert kernel.RESEND + len(ACTIONS) == kernel.FAILED
    assert MAX_OWN == MAX_OWN_FIELDS
    columns = (
        kernel.ON_DUPLICATE,
        kernel.ON_ACK_IN_RECOVERY,
        kernel.ON_EXPIRY,
        kernel.ON_REPORT,
        kernel.ON_ALARM,
    )
    assert [EVENTS[n] for n in columns] == list(EVENTS)
    names = ["on_duplicate_ack", "on_ack", "on_timeout", "on_report", "on_alarm"]
    assert list(EVENTS) == names


def random_record(rng: np.random.Generator) -> np.recarray:
    """Return the record of a flow with random numbers, in and out of the ranges of its fields."""
    flow = np.zeros(1, FLOW).view(np.recarray)
    for name in ("cwnd", "ssthresh", "inflation", "pipe", "prr_out", "rtt"):
        flow[name] = rng.uniform(1.0, 60.0)
    flow.snd_una, flow.recover = rng.integers(1, 30), rng.integers(-2, 30)
    flow.snd_nxt = flow.snd_max = rng.integers(30, 50)
    flow.recovering, flow.timing, flow.dupacks = *rng.integers(0, 2, 2), rng.integers(1, 5)
    flow.timed, flow.backoff, flow.pipe_limit = rng.integers(0, 30), 2.0, -1.0
    flow.size, flow.srtt, flow.min_rtt = rng.integers(40, 60), *rng.uniform(0.0, 0.2, 2)
    flow.deadline, flow.next_loss = rng.uniform(1.0, 9.0, 2)
    flow.own[0, :] = rng.uniform(0.0, 20.0, MAX_OWN)
    return flow


@pytest.mark.parametrize("name", RECOVERIES)
def test_compiled_functions_return_the_numbers_of_plain_python(name: str) -> None:
    """On random senders, beyond the samples that are always compared."""
    kind = type(RECOVERIES[name])
    row, plain = recovery_events([kind])[0], recovery_events([kind], compiled=False)[0]
    rng = np.random.default_rng(6582)
    changed = failed = 0
    for _ in range(60):
        given, w = random_record(rng), np.zeros(EXCHANGED)
        w[kernel.NEWLY_LOST] = rng.integers(0, 3)
        seen = rng.uniform(0.0, 5.0), float(rng.integers(0, 2)), *rng.integers(0, 4, 2).tolist()
        for n in np.flatnonzero(row).tolist():
            flows, arrays = (given.copy(), given.copy()), (w.copy(), w.copy())
            place = flows[0].ctypes.data
            CALL(int(row[n]))(place, place, arrays[0].ctypes.data, *map(float, seen))
            plain[n](flows[1][0], arrays[1], *map(float, seen))
            for field in FLOW.names or ():
                assert np.array_equal(flows[0][field], flows[1][field]), field
            np.testing.assert_array_equal(*arrays)
            changed += any((flows[0][field] != given[field]).any() for field in FLOW.names or ())
            failed += int(arrays[0][kernel.FAILED])
    assert changed > 20, "most events do something"
    assert failed < changed
