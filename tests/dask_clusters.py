"""Clusters of Dask in this machine, for tests of work on other processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["dask_client"]


@contextmanager
def dask_client(workers: int = 2) -> Iterator[Any]:
    """Yield a client of a cluster of processes with one thread each; the test is skipped without Dask."""
    distributed = pytest.importorskip("distributed", reason="needs hopflow[scale]")
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
