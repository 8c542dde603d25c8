"""Tables that both levels fill mean the same in kernel and result."""

from __future__ import annotations

from dfcmodel.network import run_tables
from dfcmodel.packets.kernel import ports, trimming


def test_causes_are_the_columns_of_the_packet_kernel() -> None:
    for name in ("BUFFER_FULL", "BY_MANAGER", "AT_RANDOM"):
        assert getattr(run_tables, name) == getattr(ports, name)
    assert run_tables.CAUSES[run_tables.BY_WATCHDOG] == "watchdog"
    assert run_tables.CAUSES[trimming.TRIMMED] == run_tables.CAUSES[run_tables.TRIMMED] == "trimmed"
    assert len(run_tables.CAUSES) == 5
