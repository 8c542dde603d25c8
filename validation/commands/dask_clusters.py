"""The option ``--dask``: a cluster of Dask whose workers do the work of a command."""

from __future__ import annotations

import importlib
from concurrent.futures import Executor
from typing import Any

import typer

ANSWER_TIME = 10.0
"""Seconds until a scheduler must have answered."""


def connected(address: str) -> Executor:
    """Return the executor of the cluster whose scheduler is at an address; it ends with this process.

    Raises
    ------
    typer.BadParameter
        Without Dask, for an address where no scheduler answers, and for one without workers.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise _refused("needs Dask: pip install 'hopflow[scale]'") from None
    try:
        client = distributed.Client(address, timeout=ANSWER_TIME)
    except (OSError, ValueError) as error:
        msg = f"{address!r}: no scheduler of Dask answers there, such as tcp://host:8786 ({error})"
        raise _refused(msg) from None
    if not client.scheduler_info()["workers"]:
        client.close()
        msg = f"{address!r}: the scheduler has no workers; start some: dask worker {address}"
        raise _refused(msg)
    executor: Executor = client.get_executor()
    return executor


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--dask")
