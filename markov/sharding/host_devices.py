"""Several JAX devices on the processor of one machine, and how long they wait for each other."""

from __future__ import annotations

from hopflow.checks import integer, one_number

__all__ = ["host_device_flags"]


def host_device_flags(devices: int, patience: float = 3600.0) -> str:
    """Return the value of ``XLA_FLAGS`` for a process with several devices on its processor.

    Devices exchange numbers in collective operations. XLA takes one that the others have waited for more than 40 s
    for dead and aborts the process (status -6). With more devices than processors, or other work beside them, that
    happens to programs that are merely slow, so a longer time is set.

    Parameters
    ----------
    devices
        Devices, 1 to 4096.
    patience
        How long they wait for each other, s, 1 to 1e6.

    Raises
    ------
    ValueError
        For a number of devices outside 1 to 4096, and patience below 1 s.

    Examples
    --------
    Before JAX is first used:

    >>> import os
    >>> from markov.sharding import host_device_flags
    >>> os.environ["XLA_FLAGS"] = host_device_flags(4)  # doctest: +SKIP
    """
    count = integer("devices", devices, 1, 4096)
    seconds = round(one_number("patience", patience, at_least=1.0, at_most=1e6, hint="in s"))
    return (
        f"--xla_force_host_platform_device_count={count} "
        f"--xla_cpu_collective_call_warn_stuck_timeout_seconds={seconds} "
        f"--xla_cpu_collective_call_terminate_timeout_seconds={seconds}"
    )
