"""The scripts for many machines: with programs of the system (MPI, PETSc and SLEPc), and on JAX's devices."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import markov
from tests.surface import HANG

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "machines"
DEBIAN = [
    str(path)
    for library in ("petsc", "slepc")
    for path in Path("/usr/lib").glob(f"{library}dir/*/*-real/lib/python3/dist-packages")
]
"""Where Debian's packages python3-petsc4py-real and python3-slepc4py-real are."""


def pythons():
    """Interpreters that may have petsc4py and slepc4py, with what is to be on their path."""
    checkout = str(Path(markov.__file__).parents[1])
    yield sys.executable, [checkout]
    if DEBIAN and (system := shutil.which("python3", path="/usr/bin")):
        yield system, [checkout, *DEBIAN]


def lacking(what: str) -> None:
    """Skip, or fail where the test was asked for."""
    if os.environ.get("HOPFLOW_PETSC"):
        pytest.fail(f"HOPFLOW_PETSC is set, and {what} is missing")
    pytest.skip(f"needs {what}")


@pytest.mark.slow
def test_two_ranks_of_petsc_and_slepc_agree_with_us():
    if shutil.which("mpiexec") is None:
        lacking("mpiexec")
    for python, path in pythons():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        loads = [python, "-c", "import petsc4py, slepc4py, scipy"]
        if subprocess.run(loads, env=environment, capture_output=True, check=False).returncode == 0:
            break
    else:
        lacking("petsc4py or slepc4py")
    command = ["mpiexec", "--oversubscribe", "-n", "2", python, str(FOLDER / "stationary_petsc.py")]
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=HANG)
    assert run.returncode == 0, run.stderr
    answers = re.findall(r"(PETSc|SLEPc) on 2 ranks: 484 states, .*residual (\S+), difference (\S+)", run.stdout)
    assert [name for name, _, _ in answers] == ["PETSc", "SLEPc"]
    assert all(float(residual) < 1e-12 and float(difference) < 1e-10 for _, residual, difference in answers)


@pytest.mark.slow
def test_what_jax_computes_on_two_devices_agrees_with_us():
    flags = "--xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(FOLDER / "check_devices.py")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[0] == "devices: cpu:0 cpu:1"
    found = re.findall(r"^(\w+): difference (\S+), allowed (\S+)$", run.stdout, re.MULTILINE)
    assert [name for name, _, _ in found] == ["fluid"]
    assert all(0.0 < float(difference) <= float(allowed) for _, difference, allowed in found)
