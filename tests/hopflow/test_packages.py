"""Optional packages and lazy imports."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hopflow
from hopflow.packages import LEFT_OUT
from responsefn import HTCP

# Files of a user that hide hopflow's packages.


@pytest.mark.parametrize(
    "wanted", ["hopflow; hopflow.PauseTandem", "hopflow; hopflow.markov", "validation"]
)
def test_a_file_that_hides_a_package_is_named(tmp_path, wanted):
    """A user's script or module called markov.py comes before ours."""
    (tmp_path / "markov.py").write_text("x = 1\n", encoding="utf-8")
    root = Path(hopflow.__file__).parents[1]
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]; import {wanted}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    said = run.stderr.strip().splitlines()[-1]
    expected = "which hides hopflow's package of that name: rename it"
    assert said == f"ImportError: markov is {tmp_path / 'markov.py'}, {expected}"


# The package as a whole: light imports, names of the packages above.

LAZY = """
import sys
import tomllib
import hopflow
loaded = [m for m in ("dfcmodel", "markov", "responsefn", "numba", "jax", "scipy") if m in sys.modules]
print(loaded)
"""


def test_import_is_light_and_names_are_offered():
    out = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    import markov
    import responsefn

    assert hopflow.PauseTandem is markov.PauseTandem
    assert hopflow.Reno is responsefn.Reno
    assert {*hopflow.__all__, "PauseTandem", "Reno", "takano2006"} <= set(dir(hopflow))
    with pytest.raises(AttributeError, match="module 'hopflow' has no attribute 'nonsense'"):
        hopflow.nonsense  # noqa: B018


def test_the_packages_are_offered_too():
    import markov

    assert hopflow.markov is markov
    assert {"dfcmodel", "markov", "responsefn"} <= set(dir(hopflow))


# The light installation: without JAX, SymPy and networkx.

WITHOUT = """
import sys
import tomllib

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)
"""
PATHS = {
    "fluid": "from dfcmodel import *; assert simulate(takano2006('1'), duration=0.05).status.ok",
    "packets": "from dfcmodel import *; assert simulate(takano2006('1'), Packets(), duration=0.05).status.ok",
    "chain": "from markov import *; assert stationary(PauseTandem(high_threshold=15, rtt=1.0)).error_bound < 1e-9",
    "explored": "from markov import *; rules = lambda s, q: [((s + 1) % 5, 1.0)]; "
    "assert abs(stationary(explore(rules, start=0)).pi.sum() - 1.0) < 1e-12",
    "headroom": "from dfcmodel import headroom; print(headroom(rate='100Gbps', cable='300m'))",
    "rates by a cycle": "from responsefn import *; print(HTCP().rate(0.01, rtt=0.1))",
    "command": "from hopflow.shell import main; sys.argv = ['hopflow', 'headroom', '--rate', '100Gbps', '--cable', '300m']; main()",
}


def test_the_main_paths_need_none_of_what_the_light_installation_leaves_out() -> None:
    """All in one process; an error of one names it by its line."""
    code = WITHOUT.format(names=set(LEFT_OUT) | {"jaxlib", "mpmath"}) + "\n".join(PATHS.values())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    assert str(HTCP().rate(0.01, rtt=0.1)) in done.stdout.splitlines()


def test_what_needs_them_says_what_to_install() -> None:
    code = (
        WITHOUT.format(names={"sympy"}) + "from responsefn import Reno; Reno().rate(0.01, rtt=0.1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "closed forms of responses need SymPy, which the light installation leaves out: `pip install sympy` adds it"
    assert done.stderr.strip().splitlines()[-1] == f"ImportError: {said}"


def test_the_light_installation_leaves_out_those_and_no_others() -> None:
    root = Path(hopflow.__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [
        line
        for line in (root / "requirements-light.txt").read_text(encoding="utf-8").splitlines()
        if line[:1] != "#"
    ]
    left = [each for each in project["dependencies"] if each.partition(">")[0] not in LEFT_OUT]
    assert sorted(given) == sorted(left)
