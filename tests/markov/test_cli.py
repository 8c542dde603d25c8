"""``hopflow solve``: models in files, properties and constants, and what is refused."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from markov import PauseTandem, read_prism, stationary, write_explicit
from markov.errors import FileError
from tests.markov.conftest import rows
from tests.surface import invoke

MACHINE = """ctmc
const double fails;
module machine
  up : bool init true;
  [] up -> fails : (up' = false);
  [] !up -> 1 : (up' = true);
endmodule
"""
RULES = """
from typing import NamedTuple
from markov import ChainModel

class Machine(ChainModel):
    class State(NamedTuple):
        up: int
    class Params(NamedTuple):
        fails: float = 0.25
    def start(self):
        return self.State(1)
    @staticmethod
    def rules(s, q):
        yield s._replace(up=1 - s.up), q.fails if s.up else 1.0
    def labels(self, s):
        return {"works": s.up == 1}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.prism"
    path.write_text(MACHINE)
    return path


def call(*arguments: object) -> str:
    given = ["solve", *map(str, arguments)]
    return invoke(given, catch_exceptions=False).output


def test_a_property_of_a_prism_model_is_printed_with_its_bound(machine: Path) -> None:
    said = call(machine, "--property", "S=? [ up ]", "--const", "fails=0.25")
    assert "value        0.8" in said
    assert "error bound" in said
    assert "converged" in said


def test_without_a_property_the_chain_is_solved(machine: Path) -> None:
    assert "error bound (TV)" in call(machine, "--const", "fails=0.25")


def test_rewards_are_printed_whatever_their_names_are(tmp_path: Path) -> None:
    """A reward ``time`` was printed as the wall time, and names that begin like folded rows were left out."""
    path = tmp_path / "machine.sm"
    rewards = {"time": 3, "time_up": 5, "memory_use": 7, "length": 9}
    path.write_text(
        MACHINE + "".join(f'rewards "{name}" true : {gain}; endrewards\n' for name, gain in rewards.items())
    )
    shown = rows(call(path, "--const", "fails=0.25"))
    assert [shown[name] for name in ("time (measure)", "time_up", "memory_use", "length")] == ["3", "5", "7", "9"]
    assert "time" not in shown


def test_a_file_of_properties_is_evaluated_whole(machine: Path, tmp_path: Path) -> None:
    props = tmp_path / "machine.props"
    props.write_text('const double T;\n"once": P=? [ F<=T !up ];\n"often": S=? [ !up ];\n')
    said = call(machine, "--properties", props, "--const", "fails=0.25,T=1")
    assert "0.2211992" in said  # 1 - exp(-0.25)
    assert said.count("converged") == 2
    assert "0.2" in call(machine, "--properties", props, "--property", "often",
                         "--const", "fails=0.25,T=1")  # fmt: skip
    with pytest.raises(ValueError, match=r"machine\.props': a file of properties goes with --properties"):
        call(machine, "--property", props, "--const", "fails=0.25")


def test_a_users_own_python_file_is_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULES)
    assert re.search(r"works +0\.8\n", call(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--const", "fails"], "const = 'fails'"),
        (["--const", "fails=x"], "const = 'fails=x': must be a number"),
        (["--property", "S=? [ down ]", "--const", "fails=1"], "'down'"),
        ([], "fails"),
        (["--const", "fails=1", "--max-seconds", "9"], "max_seconds = 9: goes with --property"),
        (
            ["--property", "P=? [ F<=1 up ]", "--const", "fails=1", "--max-seconds", "0"],
            "max_seconds = 0: must be a finite number > 0",
        ),
        (
            ["--property", "S=? [ up ]", "--const", "fails=1", "--max-seconds", "9"],
            "max_seconds = 9: goes with properties over a time, such as F<=1, and no property has one",
        ),
        (
            ["--property", "S=? [ up ]", "--exact", "--const", "fails=1", "--max-seconds", "9"],
            "max_seconds = 9: goes with .* not with --exact",
        ),
    ],
)
def test_bad_input_is_named(machine: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(machine, *arguments)


@pytest.mark.parametrize("ending", [".umb", ".tra", ".mtx"])
def test_a_file_of_listed_states_is_solved(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"machine{ending}"
    write_explicit([[-0.25, 0.25], [1.0, -1.0]], path)
    assert "2, 0 of them transient" in call(path)
    if ending != ".mtx":
        (found,) = json.loads(call(path, "--property", "S=? [ state = 0 ]", "--json"))
        assert found["value"] == 0.8
        return
    with pytest.raises(
        ValueError, match=r"^property = 'S=\? \[ true \]': goes with PRISM, JANI and SBML files.*--states"
    ):
        call(path, "--property", "S=? [ true ]")


def test_probabilities_of_states_are_listed_of_chains_without_measures(tmp_path: Path) -> None:
    path = tmp_path / "machine.mtx"
    write_explicit([[-0.25, 0.25], [1.0, -1.0]], path)
    assert call(path).endswith("Probabilities\n  state 0  0.8\n  state 1  0.2\n")
    said = json.loads(call(path, "--json"))
    assert [entry["state"] for entry in said["probabilities"]] == [0, 1]
    assert [entry["probability"] for entry in said["probabilities"]] == pytest.approx([0.8, 0.2], rel=1e-14)
    assert "Probabilities" not in call(path, "--states", "0")
    write_explicit([[-1.0, 1.0], [0.25, -0.25]], path)
    assert call(path, "--states", "1").endswith("Probabilities, the largest 1\n  state 1  0.8\n")


def test_as_many_probabilities_are_listed_as_the_option_says() -> None:
    """Of a chain with more states the largest, in descending order; of one with measures none without the option."""
    arguments = ["mm1k", "--set", "arrival_rate=2.0", "--set", "service_rate=1.0", "--set", "capacity=20"]
    lines = call(*arguments).partition("Probabilities, the largest 10\n")[2].splitlines()
    assert [line.split()[0] for line in lines] == [f"n={n}" for n in range(20, 10, -1)]
    said = json.loads(call(*arguments, "--states", "21", "--json"))["probabilities"]
    assert [entry["state"] for entry in said] == [{"n": n} for n in range(21)]
    assert said[0]["probability"] == pytest.approx(1 / (2**21 - 1), rel=1e-12)
    assert "Probabilities" not in call("kanban")
    assert call("kanban", "--states", "2").count("m1=") == 2
    with pytest.raises(ValueError, match="states = -1: must be a whole number"):
        call("kanban", "--states", "-1")


def test_states_are_not_listed_beside_properties(machine: Path) -> None:
    with pytest.raises(ValueError, match="states = 3: lists a stationary distribution, not properties"):
        call(machine, "--const", "fails=0.25", "--property", "S=? [ up ]", "--states", "3")


EXPLORED = """
from markov import explore

def fails(s, q):
    if s.working:
        yield s._replace(working=0), q.failure
    else:
        yield s._replace(working=1), 1.0

chain = explore(fails, start={"working": 1}, params={"failure": 0.1})
"""


def test_a_python_file_takes_its_parameters_and_no_properties(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULES)
    with pytest.raises(ValueError, match="const = 'N': must be one of 'fails'"):
        call(path, "--const", "N=5")
    with pytest.raises(ValueError, match=r"property = .*: goes with PRISM, JANI and SBML files"):
        call(path, "--property", "S=? [ true ]")
    path.write_text(EXPLORED)
    assert "failure=0.3" in call(path, "--const", "failure=0.3")
    path.write_text("x = 1")
    with pytest.raises(ValueError, match="0 models"):
        call(path)


COUNTER = """
ctmc
const int N; const int k; const double rate; const bool fast;
module counter
  n : [k..N] init 0;
  [] n < N & fast -> rate : (n' = n + 1);
  [] n > k -> 1 : (n' = n - 1);
endmodule
rewards "n" true : n; endrewards
"""


def test_constants_are_read_as_what_they_are(tmp_path: Path) -> None:
    """Whole and negative numbers, numbers with an exponent, truth values: each of the type that the file declares."""
    path = tmp_path / "counter.prism"
    path.write_text(COUNTER)
    given = {"N": 5, "k": -2, "rate": 1e-3, "fast": True}
    expected = stationary(read_prism(path, constants=given))["n"]
    said = json.loads(call(path, "--const", "N=5,rate=1e-3,fast=true, k=-2", "--json"))
    assert said["measures"]["n"] == pytest.approx(expected, rel=1e-12)
    slow = json.loads(call(path, "--const", "N=5,rate=1e-3,fast=false,k=+0", "--json"))
    assert slow["measures"]["n"] == 0.0
    with pytest.raises(ValueError, match="fast"):
        call(path, "--const", "N=5,rate=1e-3,fast=1.5,k=0")


def command(*arguments):
    return invoke(arguments)


def test_solve_pause_on_the_command_line():
    done = command("solve", "pause", "--high-threshold", "15", "--rtt", "1")
    assert done.exit_code == 0
    shown = rows(done.output)
    answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
    assert shown["throughput"] == f"{answer.throughput:.6g} packets/s"
    assert shown["error bound (TV)"] == f"{answer.error_bound:.1e}"
    assert shown["status"] == "converged"


def test_every_option_reaches_the_model(tmp_path):
    file = tmp_path / "marginals.png"
    options = (
        "--buffers 4,6pkt --high-threshold 5 --low-threshold 3 --link-rate 600kbps --paused-rate 1 "
        "--bottleneck-rate 9 --rtt 0.5 --recovery up --pause-at-threshold both"
    )
    rates = ("--arrival-rates", "20 10 1")
    done = command("solve", "pause", *options.split(), *rates, "--plot", str(file))
    model = PauseTandem(
        buffers=(4, 6),
        high_threshold=5,
        low_threshold=3,
        link_rate=50.0,
        paused_rate=1.0,
        bottleneck_rate=9.0,
        arrival_rates=(20.0, 10.0, 1.0),
        rtt=0.5,
        recovery="up",
        pause_at_threshold="both",
    )
    assert done.exit_code == 0
    assert rows(done.output)["throughput"] == f"{stationary(model).throughput:.6g} packets/s"
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--high-threshold", "21"), r"high_threshold = 21: must be a whole number in 1\.\.20"),
        (("--arrival-rates", "25 x"), "arrival_rates = 'x': must be a number"),
        (("--rtt", "0"), "rtt = 0"),
    ],
)
def test_bad_options(arguments, said):
    done = command("solve", "pause", *arguments)
    with pytest.raises(ValueError, match=said):
        raise done.exception


def test_json_of_an_answer_and_of_a_property(machine: Path) -> None:
    found = json.loads(command("solve", "pause", "--json").output)
    assert found["states"] == 484
    assert found["measures"]["throughput"] == float(stationary(PauseTandem()).throughput)
    (value,) = json.loads(call(machine, "--property", "S=? [ up ]", "--const", "fails=0.25", "--json"))
    assert value["value"] == pytest.approx(0.8, abs=value["error_bound"] + 1e-15)


TANDEM = """ctmc
const int c = 5;
module serverC
  sc : [0..c];
  ph : [1..2];
  [] (sc<c) -> 4*c : (sc'=sc+1);
  [route] (sc>0) & (ph=1) -> 1.8 : (sc'=sc-1);
  [] (sc>0) & (ph=1) -> 0.2 : (ph'=2);
  [route] (sc>0) & (ph=2) -> 2 : (ph'=1) & (sc'=sc-1);
endmodule
module serverM
  sm : [0..c];
  [route] (sm<c) -> 1 : (sm'=sm+1);
  [] (sm>0) -> 4 : (sm'=sm-1);
endmodule
"""


def ended(*arguments: object) -> tuple[int, str]:
    """Return exit status and output."""
    found = invoke(["solve", *map(str, arguments)], catch_exceptions=False)
    return found.exit_code, found.output


CLIMB = """\
ctmc
module walk
  x : [0..40];
  [] x<40 -> 1e-3 : (x'=x+1);
  [] x>0 & x<40 -> 1 : (x'=x-1);
endmodule
rewards
  true : 1;
endrewards
"""


def test_an_inaccurate_value_ends_with_status_4(tmp_path: Path) -> None:
    """The mean time is 1e120 s, beyond what any bound of float64 proves."""
    (tmp_path / "climb.sm").write_text(CLIMB, encoding="utf-8")
    for further in ([], ["--json"]):
        status, said = ended(
            tmp_path / "climb.sm", "--property", "R=? [ F x=40 ]", "--property", "S=? [ x=40 ]", *further
        )
        assert status == 4
        assert "inaccurate" in said
    assert ended(tmp_path / "climb.sm", "--property", "S=? [ x=40 ]")[0] == 0


def test_an_undecided_property_is_null_and_ends_with_status_3(machine: Path) -> None:
    """In the long run the machine is up for 0.8 of the time; 0.8 is no floating-point number."""
    const = "--const", "fails=0.25"
    status, said = ended(machine, "--property", "S>=0.80000000000000000 [ up ]", *const)
    assert status == 3
    line = r"value +undecided \(within \d\S* of the threshold in 2 of 2 states\)\n"
    assert re.search(line, said)
    status, said = ended(machine, "--property", "S>=0.8 [ up ]", "--property", "S>=0.7 [ up ]", *const, "--json")
    assert status == 3
    found = json.loads(said)
    assert [each["value"] for each in found] == [None, True]
    assert [each["status"] for each in found] == ["undecided", "converged"]
    assert found[0]["reason"].startswith("within ")
    assert ended(machine, "--property", "S>=0.7 [ up ]", *const)[0] == 0


def test_a_probability_below_one_at_any_finite_time_is_below_one(tmp_path: Path) -> None:
    path = tmp_path / "tandem5.sm"
    path.write_text(TANDEM)
    text = "filter(forall, P>=1 [F<=3.11 sc!=1], sc=1)"
    status, said = ended(path, "--property", text)
    assert status == 0
    assert re.search(r"value +False\n", said)
    assert "converged" in said


def test_constants_may_be_repeated_but_not_one_of_them(machine: Path, tmp_path: Path) -> None:
    """Of two --const the last one was taken, and the answer was that of another model."""
    path = tmp_path / "counter.prism"
    path.write_text(COUNTER)
    together = call(path, "--const", "N=5,rate=1e-3,fast=true,k=0", "--json")
    apart = call(path, "--const", "N=5,rate=1e-3", "--const", "fast=true", "--const", "k=0", "--json")
    assert json.loads(apart)["measures"] == json.loads(together)["measures"]
    with pytest.raises(ValueError, match="const = 'fails=2': 'fails' is given twice"):
        call(machine, "--const", "fails=1", "--const", "fails=2")
    with pytest.raises(ValueError, match="set = 'capacity=4': 'capacity' is given twice"):
        call("mm1k", "--set", "capacity=3", "--set", "capacity=4")
    path = tmp_path / "model.foo"
    path.write_text("x")
    with pytest.raises(ValueError, match=r"must end in \.prism, "):
        call(path)


def test_a_property_may_have_a_name_as_in_a_file(machine: Path) -> None:
    said = call(machine, "--property", '"avail": S=? [ up ]', "--const", "fails=0.25")
    assert re.search(r"value +0\.8\n", said)


def test_a_tight_proof_is_an_option(machine: Path) -> None:
    const = "--const", "fails=0.25"
    assert "0.8" in call(machine, "--property", "S=? [ up ]", "--proof", "tight", *const)
    assert "converged" in call(machine, "--proof", "tight", *const)
    assert "not computed" in call(machine, "--proof", "off", *const)
    with pytest.raises(ValueError, match="proof = 'off': must be on or tight"):
        ended(machine, "--property", "S=? [ up ]", "--proof", "off", *const)
    with pytest.raises(ValueError, match="proof = 'none': must be one of"):
        ended(machine, "--proof", "none", *const)


def test_the_snippet_of_the_readme_is_a_chain_to_solve(tmp_path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = readme.split("```python\n")[1:]
    snippet = next(block for block in blocks if "def repairs" in block).partition("```")[0]
    file = tmp_path / "my_chain.py"
    file.write_text(snippet, encoding="utf-8")
    short, whole = (invoke(["solve", str(file), *more]) for more in ([], ["--verbose"]))
    assert short.exit_code == whole.exit_code == 0
    assert "error bound" in short.output
    assert "method" not in short.output
    assert "method" in whole.output


@pytest.mark.parametrize(
    ("lines", "output"),
    [
        ("model = [[-1.0, 1.0], [2.0, -2.0]]", "state 0  0.666667"),
        ("import numpy as np\nmodel = np.array([[-1.0, 1.0], [2.0, -2.0]])", "state 0  0.666667"),
        ("from markov import DiscreteChain\nmodel = DiscreteChain([[1.0]])", "a chain in discrete time has methods"),
        ("from markov import MM1K\nmodel = MM1K", r"give a model, MM1K\(\)"),
        ("model = 'queue.prism'", "must be a model by rules, .*; read_prism, "),
    ],
)
def test_the_variable_model_of_a_python_file_is_any_chain(tmp_path: Path, lines: str, output: str) -> None:
    """Errors say what a chain is; they named a ChainModel alone, also where a MarkovChain was accepted."""
    file = tmp_path / "my_chain.py"
    file.write_text(lines + "\n", encoding="utf-8")
    if "state" in output and "discrete" not in output:
        assert output in call(file)
        return
    with pytest.raises(ValueError, match=output):
        call(file)


def test_parameters_of_a_queue_without_end(tmp_path: Path) -> None:
    """Changed parameters of a chain that explore found infinite, in the shell and in sweeps."""
    file = tmp_path / "queue.py"
    file.write_text(
        "from markov import explore\n\ndef rules(n, q):\n    yield n + 1, q.a\n    if n:\n        yield n - 1, q.b\n\n"
        "model = explore(rules, start=0, params={'a': 1.0, 'b': 2.0}, labels=lambda n: {'empty': n == 0})\n",
        encoding="utf-8",
    )
    assert "empty              0.25" in call(file, "--const", "a=1.5")


def check_it(*arguments: object) -> tuple[int, str]:
    done = invoke(["check", *map(str, arguments)], catch_exceptions=False)
    return done.exit_code, done.output


def test_a_certificate_is_written_and_checked_against_the_file(machine: Path) -> None:
    path = machine.with_name("machine.cert.gz")
    call(machine, "--const", "fails=0.25", "--certificate", path)
    status, said = check_it(path, machine, "--const", "fails=0.25")
    assert status == 0
    assert "exactly one stationary distribution on the 2 listed states" in said
    assert "re-derived from machine.prism, exactly, fails = 0.25" in said
    status, said = check_it(path, machine, "--const", "fails=0.25", "--json")
    read = json.loads(said)
    assert (status, read["states"], read["rows"][:10]) == (0, 2, "re-derived")
    assert Fraction(read["total_variation_bound"]) < 1e-15
    status, said = check_it(path, machine, "--const", "fails=0.26")
    assert (status, "has other rates" in said) == (1, True)
    assert check_it(path)[0] == 0
    with pytest.raises(FileNotFoundError, match=r"none\.cert"):
        check_it(path.with_name("none.cert"))
    with pytest.raises(FileNotFoundError, match=r"none\.sm"):
        check_it(path, path.with_name("none.sm"))


def test_certificates_of_chains_and_what_they_do_not_go_with(machine: Path, tmp_path: Path) -> None:
    path = tmp_path / "queue.cert"
    call("chain", "mm1k", "--certificate", path)
    assert "31 listed states" in check_it(path)[1]
    given = ["solve", str(machine), "--certificate", str(path), "--const", "fails=1", "--property"]
    with pytest.raises(FileError, match="must be the long-run mean"):
        invoke([*given, "P=? [ F<=1 up ]"], catch_exceptions=False)
    done = invoke([*given, "S=? [ up ]"], catch_exceptions=False)
    assert "value        0.5" in done.output
    status, said = check_it(path, machine, "--const", "fails=1", "--json")
    means = json.loads(said)["means"]
    assert (status, list(means)) == (0, ["S=? [ up ]"])
    low, high = (Fraction(means["S=? [ up ]"][end]) for end in ("low", "high"))
    assert low <= Fraction(1, 2) <= high < low + Fraction(1, 10**20)
    with pytest.raises(ValueError, match="must end in"):
        check_it(path, tmp_path / "model.py")
    machine.write_text(machine.read_text().replace("const double fails", "global z : [0..1]; const double fails"))
    done = invoke(["solve", str(machine), "--const", "fails=1", "--certificate", str(path)])
    assert "rates as float64" in done.output
    assert "as in the certificate" in check_it(path)[1]


def test_a_certificate_of_a_long_run_mean_from_the_initial_state(tmp_path: Path) -> None:
    model, path = tmp_path / "fork.sm", tmp_path / "fork.cert"
    text = "ctmc module m s : [0..2] init 0; [] s = 0 -> 1 : (s' = 1) + 2 : (s' = 2); endmodule"
    model.write_text(text)
    given = ["--certificate", str(path), "--property", "S=? [ s = 2 ]"]
    invoke(["solve", str(model), *given], catch_exceptions=False)
    status, said = check_it(path, model)
    assert status == 0
    assert "long-run mean of S=? [ s = 2 ] in [0.666666666666666666" in said
    assert "exactly; state number 0 is the initial state" in said
    read = json.loads(check_it(path, "--json")[1])
    assert (read["total_variation_bound"], read["from_state"]) == (None, 0)
    model.write_text(text.replace("endmodule", "endmodule init s < 2 endinit").replace(" init 0", ""))
    with pytest.raises(ValueError, match="2 initial states: a certificate is for one"):
        invoke(["solve", str(model), *given], catch_exceptions=False)


def test_a_file_with_infinitely_many_states_is_solved(tmp_path: Path) -> None:
    path = tmp_path / "queue.sm"
    path.write_text("ctmc module m n : int; [] true -> 1 : (n' = n + 1); [] n > 0 -> 2 : (n' = n - 1); endmodule")
    said = invoke(["solve", str(path)], catch_exceptions=False).output
    assert "infinitely many" in said
    asked = ["solve", str(path), "--property", "S=? [ n > 0 ]", "--json"]
    (found,) = json.loads(invoke(asked, catch_exceptions=False).output)
    assert abs(found["value"] - 0.5) <= found["error_bound"] < 1e-8
    network = tmp_path / "network.xml"
    network.write_text(
        """<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core"><model>
<listOfSpecies><species id="X" initialAmount="0" hasOnlySubstanceUnits="true"/></listOfSpecies>
<listOfReactions><reaction id="birth"><listOfProducts><speciesReference species="X" stoichiometry="1"/></listOfProducts>
<kineticLaw><math><cn>2</cn></math></kineticLaw></reaction>
<reaction id="death"><listOfReactants><speciesReference species="X" stoichiometry="1"/></listOfReactants>
<kineticLaw><math><ci>X</ci></math></kineticLaw></reaction></listOfReactions></model></sbml>"""
    )
    asked = ["solve", str(network), "--json"]
    found = json.loads(invoke(asked, catch_exceptions=False).output)
    assert found["measures"]["X"] == pytest.approx(2.0, abs=1e-6)


# Chains and methods by their names; test_every_method.py has what is registered.


def test_a_chain_is_solved_by_its_name():
    assert "GTH" in call("mm1k", "--method", "gth", "--verbose")
    assert call("Kanban", "--json").startswith("{")
    found = call("chain", "birthdeath", "--set", "births=(3,2,1)")
    assert re.search(r"^ *states +4,", found, re.MULTILINE)


def test_exact_bounds_of_long_run_properties(machine: Path) -> None:
    """A quarter of the rate of repair: down for 1/5 of the time, a fraction."""
    given = ["solve", str(machine), "--const", "fails=0.25", "--property", "S=? [ !up ]", "--exact"]
    (found,) = json.loads(invoke([*given, "--json"]).stdout)
    assert Fraction(found["lower"]) <= Fraction(1, 5) <= Fraction(found["upper"])
    assert Fraction(found["upper"]) - Fraction(found["lower"]) < Fraction(1, 10**20)
    assert "S=? [ !up ]: " in invoke(given).stdout
    refused = invoke([*given[:5], "P=? [ F<=1 !up ]", "--exact"])
    assert refused.exit_code != 0
    assert invoke([*given[:4], "--exact"]).exit_code != 0
