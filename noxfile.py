#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.2.9"]
# ///

"""Sessions in environments of their own; the everyday commands are in the Makefile."""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

PINNED = ("--constraint", "constraints.txt")
# The oldest NumPy that clusters still have, for rules and chains from a checkout.
# It is older than the bound in pyproject.toml.
LOWER = ("numpy==1.24.*", "scipy==1.15.*")
QUICK = "not slow and not simulators and not browser"
TOOLS = (
    "pytest>=9", "hypothesis>=6.100", "jupytext>=1.16", "nbclient>=0.10", "ipykernel>=6.29",
    "packaging>=24", "scapy>=2.6", "hatchling>=1.26", "latex2mathml>=3.81", "mdit-py-plugins>=0.4",
)  # fmt: skip
"""What the tests import; linters and types are not among them."""


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the quick tests against the newest versions, without the pins."""
    session.install("--editable", ".[dev]")
    session.run("pytest", "-m", QUICK, *session.posargs)


@nox.session(python="3.11")
def lower(session: nox.Session) -> None:
    """Import the rule and chain modules of markov with the oldest NumPy and nothing else."""
    session.install(*LOWER)
    session.run("python", "-c", "import markov, numpy; print(numpy.__version__)", env={"PYTHONPATH": "."})


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Run quick tests on the oldest supported versions of everything."""
    session.install("--constraint", "constraints-oldest.txt", ".", *TOOLS)
    session.run("pytest", "-m", QUICK, *session.posargs)


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Run what `make check` runs."""
    session.install("--editable", ".[dev]", *PINNED)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("repo-review", ".")


@nox.session(python="3.11", default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build/html."""
    session.install("--editable", ".[docs]", *PINNED)
    session.run("sphinx-build", "-b", "html", "-W", "--keep-going", "docs", "docs/_build/html")


@nox.session(python="3.11", default=False)
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it elsewhere and run its own numerical validation."""
    folder = Path(session.create_tmp())
    session.install("build", "pytest")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder))
    session.install(*PINNED, *(str(path) for path in folder.glob("*.whl")))
    session.chdir(folder)
    session.run("pytest", "--pyargs", "validation")


if __name__ == "__main__":
    nox.main()
