"""What tests of several parts of dfcmodel share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from dfcmodel import Flow, Link, Scenario
from responsefn import NewReno


@pytest.fixture
def refused() -> Callable[[Iterable[str], Callable[[], object]], None]:
    """Check that a call is refused by a message that names all parts and says what is allowed."""

    def check(parts: Iterable[str], make: Callable[[], object]) -> None:
        with pytest.raises(ValueError, match=r"must|allowed|use|needed") as error:
            make()
        for part in parts:
            assert part in str(error.value)

    return check


@pytest.fixture(scope="session")
def bottleneck() -> Scenario:
    """Return two NewReno flows of different round-trip times over one link of 2000 packets/s."""
    links = (
        Link("near", "router", 2e4, 2e-3, 200.0),
        Link("far", "router", 2e4, 5e-3, 200.0),
        Link("router", "end", 2e3, 10e-3, 40.0),
    )
    flows = tuple(Flow(name, (name, "router", "end"), NewReno(), max_window=100.0) for name in ("near", "far"))
    return Scenario("two round-trip times", links, flows, duration=1.0)
