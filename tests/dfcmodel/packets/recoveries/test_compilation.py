"""Recoveries called by address: compiled functions give what plain Python gives, bit for bit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dfcmodel.packets.kernel import recovery as kernel
from dfcmodel.packets.kernel.layout import MAX_OWN
from dfcmodel.packets.recoveries import RECOVERIES
from dfcmodel.packets.recoveries.base import (
    ACTIONS,
    EVENTS,
    MAX_OWN_FIELDS,
    SENDER_FIELDS,
    RecoveryEvent,
)
from dfcmodel.packets.recoveries.compilation import FIRST_OWN, recovery_events


def test_the_kernel_has_the_places_of_the_fields() -> None:
    names = [*SENDER_FIELDS, *ACTIONS, *RecoveryEvent._fields[4:]]
    places = {"highest_sacked": "TOP", "ns2": "IN_NS2"}
    for place, name in enumerate(names):
        assert getattr(kernel, places.get(name, name.upper())) == place, name
    assert len(names) == FIRST_OWN == kernel.OWN
    assert MAX_OWN == MAX_OWN_FIELDS
    columns = (kernel.ON_DUPLICATE, kernel.ON_ACK_IN_RECOVERY, kernel.ON_EXPIRY)
    assert [EVENTS[n] for n in columns] == ["on_duplicate_ack", "on_ack", "on_timeout"]


@pytest.mark.parametrize("name", RECOVERIES)
def test_compiled_functions_return_the_numbers_of_plain_python(name: str) -> None:
    """On random senders, beyond the samples that are always compared."""
    kind = type(RECOVERIES[name])
    row, plain = recovery_events([kind])[0], recovery_events([kind], compiled=False)[0]
    rng = np.random.default_rng(6582)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_double] * 4)
    changed = 0
    for _ in range(200):
        numbers = np.floor(rng.uniform(1.0, 40.0, FIRST_OWN + MAX_OWN_FIELDS))
        numbers[[SENDER_FIELDS.index("recovering"), SENDER_FIELDS.index("timing")]] = rng.integers(
            0, 2, 2
        )
        numbers[SENDER_FIELDS.index("dupacks")] = rng.integers(1, 6)
        seen = rng.uniform(0.0, 5.0, 4)
        for n in range(len(EVENTS)):
            compiled, python = numbers.copy(), numbers.tolist()
            call(int(row[n]))(compiled.ctypes.data, *seen)
            plain[n](python, *seen.tolist())
            np.testing.assert_array_equal(compiled, python)
            changed += int((compiled != numbers).any())
    assert changed > 50, "most events do something"
