"""Rows of a certificate against a second, independent reader of the model's file: PRISM, JANI, .tra of PRISM or Storm, UMB."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from markov import (
    JacksonTandem,
    PauseTandem,
    read_explicit,
    read_jani,
    read_prism,
    stationary,
    write_explicit,
)
from tests.markov.files.conftest import jani_queue
from tests.markov.proofs.certificates import checked, holds, refusal
from tests.markov.proofs.conftest import exact_solution

State = tuple[int, ...]

# `shop` has an entry of `syncs` that never happens
pytestmark = pytest.mark.filterwarnings("ignore:.*its entries never happen:UserWarning")


def exact_mean(rows: Any, start: State, of: int) -> Fraction:
    """Return the stationary mean of a component, for a function from a state to its targets and exact rates."""
    numbers, lists = {start: 0}, []
    for state in iter(left := [start]):
        row = []
        for target, rate in rows(state):
            if target not in numbers:
                numbers[target] = len(numbers)
                left.append(target)
            row.append((numbers[target], Fraction(rate)))
        lists.append(row)
    pi = exact_solution(lists)
    assert pi is not None
    return sum(p * state[of] for p, state in zip(pi, numbers, strict=True))


# PRISM


def line_rows(s: State) -> Iterator[tuple[State, Fraction]]:
    """Transitions of conftest's `LINE` with t = 2, written in Python."""
    w, x, b, y = s
    slow, back = Fraction(1, 10), Fraction(7, 10)
    if w < 2:
        yield (w + 1, x, b, y), Fraction(36, 100)
    if w > 0 and x < 2 and y < 2:
        yield (w - 1, min(2, x + 1), b, y + 1), back * w
    if x > 0 and not b:
        yield (w, x - 1, b, y), Fraction(3, 10)
        yield (w, x, 1, y), slow
    if b:
        yield (w, x, 0, y), Fraction(2501, 1000)
    if y > 0:
        yield (w, x, b, y - 1), Fraction(1 if y == 1 else 2, 3)


def test_rates_of_decimals_and_of_modules_together_are_exact(line: Path, tmp_path: Path) -> None:
    path, answer = tmp_path / "line.cert", stationary(read_prism(line, constants={"t": 2}))
    means = {"full": "full", "out": "out", "w": answer.states.w, "x": answer.states.x}
    answer.certificate(path, measures=means, model=line, constants={"t": 2})
    proved = checked(path, line, "t=2")
    assert proved["rows"] == "re-derived from line.sm, exactly, t = 2"
    assert Fraction(proved["total_variation_bound"]) < 3e-16  # without the rounding of rates
    assert all(holds(proved, name, exact_mean(line_rows, (0,) * 4, k)) for k, name in enumerate("wx"))
    bound = answer.bound("out")
    assert float(Fraction(proved["means"]["out"]["low"])) == pytest.approx(bound.value, rel=1e-14)


def test_other_rates_and_constants_are_noticed(line: Path, tmp_path: Path) -> None:
    path = tmp_path / "line.cert"
    stationary(read_prism(line, constants={"t": 2})).certificate(path)
    assert "rates rounded to float64" in checked(path, line, "t=2")["rows"]
    assert re.search(r"x = 2: must be in 0\.\.1", refusal(path, line, "t=1"))
    assert "which is not listed" in refusal(path, line, "t=3")
    line.write_text(line.read_text().replace("0.36", "0.360000000001"))
    assert re.search(r"line\.sm: has other rates out of state number", refusal(path, line, "t=2"))


@pytest.mark.parametrize(
    ("old", "new", "const", "said"),
    [
        ("ctmc", "dtmc", "t=2", "'dtmc': must be 'ctmc'"),
        ("label", "system", "t=2", "'system': this reader knows"),
        ("module second", "module second = other [x = z] endmodule module third", "t=2", "'other': must be a module"),
        ("module second", "module third = first [w = z] endmodule module second", "t=2", "formula 'free' has 'w'"),
        ("min(", "log(", "t=2", "'log': this reader knows min, max"),
        ("const int t;", "const int t = k;", "", "'k' has no value here"),
        ("1/10", "1/0", "t=2", "line.sm: "),
        ("free ->", "free # ->", "t=2", "'#' is unknown"),
        ("w < t", "w < t < 3", "t=2", "needs parentheses"),
        ("(w' = w + 1)", "(w' = w + )", "t=2", "an expression is expected"),
        ("endrewards", "", "t=2", "the file ends here"),
        ("", "", "", "the constant t needs a value"),
        ("", "", "t=1,s=2", "has no constants s"),
        ("", "", "t=1.5", "must be whole"),
    ],
)  # fmt: skip
def test_prism_files_that_are_refused(line: Path, tmp_path: Path, old: str, new: str, const: str, said: str) -> None:
    path = tmp_path / "line.cert"
    stationary(read_prism(line, constants={"t": 2})).certificate(path)
    line.write_text(line.read_text().replace(old, new, 1))
    assert said in refusal(path, line, const)


FLIP = "ctmc module m x : [0..1]; [] x = 0 -> {} : (x' = 1); [] x = 1 -> 1 : (x' = 0); endmodule label \"on\" = x = 1;"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2 - 1 - 1 + 3 * 2 / 4", Fraction(3, 2)),
        ("-(1 - 3) * 0.5", 1),
        ("pow(2, 3) + mod(7, 4) + max(1, 2.5)", Fraction(27, 2)),
        ("floor(2.5) + ceil(0.1)", 3),
        ("(!(1 = 2) & (1 > 2 | 2 >= 2) ? 5 : 6)", 5),
        ("(1 = 2 => 3 = 4) ? 7 : 8", 7),
        ("0.3", Fraction(3, 10)),
    ],
)
def test_expressions_mean_what_they_mean_in_prism(tmp_path: Path, written: str, value: Fraction) -> None:
    path = tmp_path / "one.sm"
    path.write_text(FLIP.format(written))
    stationary(read_prism(path)).certificate(tmp_path / "one.cert", model=path)
    found = checked(tmp_path / "one.cert", path)
    assert found["rows"] == "re-derived from one.sm, exactly"
    assert holds(found, "on", Fraction(value, value + 1))


def test_negative_rates_and_bad_powers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.sm"
    path.write_text(FLIP.format("1"))
    stationary(read_prism(path)).certificate(tmp_path / "one.cert")
    for written, said in (
        ("x - 1", "negative"), ("pow(2, -1)", "at least 0"), ("mod(1, 0)", "mod"),
    ):  # fmt: skip
        path.write_text(FLIP.format(written))
        assert said in refusal(tmp_path / "one.cert", path)


PAIR = """ctmc
module a x : [0..1]; [go] x = 0 -> {} : (x' = 1); [back] x = 1 -> 1 : (x' = 0); endmodule
module b y : [0..1]; [go] y = 0 -> {} : (y' = 1); [back] y = 1 -> 1 : (y' = 0); endmodule
"""


def test_a_product_of_two_negative_rates_is_refused(tmp_path: Path) -> None:
    """Of two modules that synchronise: the product is positive, and the reader of models refuses it too."""
    path, certificate = tmp_path / "pair.sm", tmp_path / "pair.cert"
    path.write_text(PAIR.format("2", "3"))
    stationary(read_prism(path)).certificate(certificate)
    assert checked(certificate, path)["rows"] == "re-derived from pair.sm, exactly"
    path.write_text(PAIR.format("x - 2", "y - 3"))
    with pytest.raises(ValueError, match=r"rate -[23] in state"):
        stationary(read_prism(path))
    assert "a rate is negative in" in refusal(certificate, path)


def test_a_negative_rate_with_a_negative_probability_is_refused(tmp_path: Path) -> None:
    """In JANI a destination has the product of both as its rate."""
    path, certificate = tmp_path / "queue.jani", tmp_path / "queue.cert"
    model = jani_queue()
    path.write_text(json.dumps(model))
    stationary(read_jani(path, constants={"N": 3})).certificate(certificate)
    for edge in model["automata"][0]["edges"]:
        n = {"op": "*", "left": "n", "right": 0}
        edge["rate"]["exp"] = {"op": "-", "left": n, "right": edge["rate"]["exp"]}
        edge["destinations"][0]["probability"] = {"exp": {"op": "-", "left": n, "right": 1}}
    path.write_text(json.dumps(model))
    with pytest.raises(ValueError, match="must be finite, >= 0"):
        stationary(read_jani(path, constants={"N": 3}))
    assert "a rate is negative in" in refusal(certificate, path, "N=3")


COPIES = """ctmc
const double slow = 1/10;
const double fast = 3/10;
module a
  x : [0..2] init 0;
  [go] x < 2 -> slow : (x' = x + 1);
  [] x > 0 -> 1/7 : (x' = x - 1);
endmodule
module b = a [x = y, slow = fast, go = stop] endmodule
"""


def test_copies_of_modules_have_other_names(tmp_path: Path) -> None:
    """A copy of a copy is refused."""
    path, certificate = tmp_path / "copies.sm", tmp_path / "copies.cert"
    path.write_text(COPIES)
    answer = stationary(read_prism(path))
    answer.certificate(certificate, measures={"y": answer.states.y}, model=path)
    r = Fraction(21, 10)  # y goes up with 3/10 and down with 1/7
    found = checked(certificate, path)
    assert found["rows"] == "re-derived from copies.sm, exactly"
    assert holds(found, "y", (r + 2 * r**2) / (1 + r + r**2))
    path.write_text(COPIES + "module c = b [y = z, stop = go] endmodule\n")
    assert "'b': must be a module that stands before" in refusal(certificate, path)


# JANI


def joined(sign: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": sign, "left": left, "right": right}


def chosen(asked: Any, yes: Any, no: Any) -> dict[str, Any]:
    return {"op": "ite", "if": asked, "then": yes, "else": no}


def to(location: str, share: float | None = None, **values: Any) -> dict[str, Any]:
    """Return a destination with assignments."""
    set_ = [{"ref": name, "value": value} for name, value in values.items()]
    likely = {} if share is None else {"probability": {"exp": share}}
    return {"location": location, "assignments": set_, **likely}


def edge(location: str, rate: Any, *ends: Any, **more: Any) -> dict[str, Any]:
    return {"location": location, "rate": {"exp": rate}, "destinations": [*ends], **more}


def automaton(name: str, locations: list[str], edges: list[Any]) -> dict[str, Any]:
    found = [{"name": each} for each in locations]
    return {"name": name, "locations": found, "initial-locations": locations[:1], "edges": edges}


def shop() -> dict[str, Any]:
    """Two automata: a door that is shut or open, and a queue that fills and empties through it."""
    room = {"op": "¬", "exp": joined("≥", "n", "N")}
    rate = chosen(joined("∧", "open", room), 0.7, joined("/", 1, 3))
    served = chosen(joined("⇒", "open", joined(">", "n", 0)), joined("pow", 2, 3), 0)
    step = joined("min", joined("+", "n", {"op": "ceil", "exp": 0.5}), "N")
    door = automaton("door", ["shut", "ajar"], [
        edge("shut", rate, to("ajar", 0.25, open=True), to("shut", 0.75), action="go"),
        edge("ajar", 1.5, {"location": "ajar"}, action="go"),
        edge("ajar", 0.1, to("shut", open=False, cost=2)),
    ])  # fmt: skip
    queue = automaton("queue", ["l"], [
        edge("l", 1, to("l", n=step), action="enter"),
        edge("l", served, to("l", n=joined("-", "n", 1)), guard={"exp": joined("≠", "n", 0)}),
    ])  # fmt: skip
    bounded = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"}
    return {
        "jani-version": 1, "name": "shop", "type": "ctmc", "features": ["derived-operators"],
        "actions": [{"name": name} for name in ("go", "enter", "never")],
        "constants": [{"name": "N", "type": "int"}, {"name": "unused", "type": "real", "value": 0.5}],
        "variables": [
            {"name": "n", "type": bounded, "initial-value": 0},
            {"name": "open", "type": "bool", "initial-value": False},
            {"name": "cost", "type": "real", "transient": True, "initial-value": 0},
        ],
        "automata": [door, queue],
        "system": {
            "elements": [{"automaton": "door"}, {"automaton": "queue"}],
            "syncs": [{"synchronise": ["go", "enter"]}, {"synchronise": [None, "never"]}],
        },
        "properties": [],
    }  # fmt: skip


def shop_rows(s: State) -> Iterator[tuple[State, Fraction]]:
    """Transitions of `shop` with N = 3, written in Python: n, and whether the door is open."""
    n, ajar = s
    if ajar:
        yield (min(n + 1, 3), 1), Fraction(3, 2)
        yield (n, 0), Fraction(1, 10)
    else:  # where the door is shut, `open` is false
        yield (min(n + 1, 3), 1), Fraction(1, 12)
        yield (min(n + 1, 3), 0), Fraction(1, 4)
    if n:
        yield (n - 1, ajar), Fraction(8)


def written(tmp_path: Path, model: Any) -> Path:
    path = tmp_path / "shop.jani"
    path.write_text(json.dumps(model), encoding="utf-8")
    return path


def test_rows_of_jani_are_those_of_the_other_reader_and_exact(tmp_path: Path) -> None:
    path = written(tmp_path, shop())
    answer = stationary(read_jani(path, constants={"N": 3}))
    n, chain = {"n": answer.states.n}, answer.chain
    answer.certificate(tmp_path / "exact.cert", measures=n, model=path, constants={"N": 3})
    found = checked(tmp_path / "exact.cert", path, "N=3")
    assert found["rows"] == "re-derived from shop.jani, exactly, N = 3"
    assert (found["states"], found["transitions"]) == (chain.size, chain.Q.nnz - chain.size)
    assert holds(found, "n", exact_mean(shop_rows, (0, 0), 0))
    answer.certificate(tmp_path / "floats.cert")
    assert "rates rounded to float64" in checked(tmp_path / "floats.cert", path, "N=3")["rows"]


def test_an_initial_state_that_is_left_for_good_is_said(tmp_path: Path) -> None:
    model = shop()
    model["variables"][1]["initial-value"] = True  # behind a shut door
    path = written(tmp_path, model)
    stationary(read_jani(path, constants={"N": 3})).certificate(tmp_path / "shop.cert")
    found = checked(tmp_path / "shop.cert", path, "N=3")["rows"]
    assert "; the initial state is not listed" in found


def test_a_jani_file_with_other_rates_is_noticed(tmp_path: Path) -> None:
    path, certificate = written(tmp_path, jani_queue()), tmp_path / "queue.cert"
    stationary(read_jani(path, constants={"N": 3})).certificate(certificate)
    checked(certificate, path, "N=3")
    assert re.search("has other rates|which is not listed", refusal(certificate, path, "N=4"))
    path.write_text(path.read_text().replace("7.0", "7.000001"))
    assert "shop.jani: has other rates" in refusal(certificate, path, "N=3")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("type",), "dtmc", "type 'dtmc': must be 'ctmc'"),
        (("features",), ["arrays"], "arrays: not read"),
        (("functions",), [{"name": "f"}], "functions: not read"),
        (("restrict-initial",), {"exp": "open"}, "restrict-initial: not read"),
        (("constants", 0, "value"), joined("⊕", 1, 2), "operator '⊕': not read"),
        (("constants", 0, "name"), "M", "'N' has no value here|the constant M needs a value"),
        (("variables", 0, "type"), "int", "must be bool or a bounded int"),
        (("variables", 0, "name"), "N", "is defined twice"),
        (("system", "elements"), [{"automaton": "door"}], "must have each automaton once"),
        (("automata", 1, "edges", 0, "location"), "m", "is not in list|is no JANI model"),
        (("automata", 0, "edges", 2, "destinations", 0, "assignments", 0, "index"), 1, "index"),
        (("automata",), 3, "is no JANI model"),
    ],
)
def test_jani_files_that_are_refused(tmp_path: Path, place: Any, value: Any, said: str) -> None:
    model = shop()
    stationary(read_jani(written(tmp_path, model), constants={"N": 3})).certificate(tmp_path / "c")
    inner: Any = model
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    const = "" if place[0] == "constants" else "N=3"
    assert re.search(said, refusal(tmp_path / "c", written(tmp_path, model), const))


def objects_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_of(inner)


def test_every_unknown_or_doubled_key_and_name_of_jani_is_refused_by_name(tmp_path: Path) -> None:
    model, certificate = shop(), tmp_path / "shop.cert"
    model["restrict-initial"] = model["automata"][0]["restrict-initial"] = {"exp": True}
    stationary(read_jani(written(tmp_path, model), constants={"N": 3})).certificate(certificate)
    objects = list(objects_of(model))
    assert len(objects) >= 60
    for value in objects:
        value["zz"] = 1
        assert "'zz' is not read" in refusal(certificate, written(tmp_path, model), "N=3"), value
        del value["zz"]
        value["comment"] = "skipped"
    checked(certificate, path := written(tmp_path, model), "N=3")
    text = path.read_text(encoding="utf-8")
    for key in ("rate", "guard", "value", "location", "exp", "op", "lower-bound", "synchronise"):
        path.write_text(text.replace(f'"{key}": ', f'"{key}": 1, "{key}": ', 1), encoding="utf-8")
        assert f"the key '{key}' stands twice" in refusal(certificate, path, "N=3")
    for names in (model["actions"], model["constants"], model["automata"], model["automata"][0]["locations"]):
        names.append(names[0])
        assert "twice" in refusal(certificate, written(tmp_path, model), "N=3")
        names.pop()


def test_constants_of_jani_and_files_that_are_none(tmp_path: Path) -> None:
    path, certificate = written(tmp_path, shop()), tmp_path / "shop.cert"
    stationary(read_jani(path, constants={"N": 3})).certificate(certificate)
    assert "the constant N needs a value" in refusal(certificate, path)
    assert "has no constants K" in refusal(certificate, path, "N=3,K=1")
    path.write_text("{")
    assert "shop.jani: " in refusal(certificate, path)


# Lists of transitions: .tra of PRISM or Storm, UMB

TRA = "3 4\n0 1 0.1\n1 0 0.25\n1 2 1e-3\n2 1 7\n"


@pytest.fixture
def tra(tmp_path: Path) -> Path:
    path = tmp_path / "three.tra"
    path.write_text(TRA)
    stationary(read_explicit(path).chain).certificate(tmp_path / "three.cert")
    return path


def test_states_by_number_and_rates_to_float64(tra: Path) -> None:
    path = tra.with_suffix(".cert")
    assert checked(path, tra)["rows"] == "re-derived from three.tra, rates rounded to float64"
    tra.write_text(TRA.replace("3 4", "ctmc"))  # as Storm writes it
    assert checked(path, tra)["states"] == 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.25", "0.250000001", "has other rates out of state number 1"),
        ("2 1 7", "2 3 7", "2 leads to 3, which is not listed"),
        ("2 1 7", "2 1", "line 5: must be source"),
        ("2 1 7", "2 1 -7", "must not be negative"),
    ],
)
def test_lists_that_are_refused(tra: Path, old: str, new: str, said: str) -> None:
    tra.write_text(TRA.replace(old, new))
    assert said in refusal(tra.with_suffix(".cert"), tra)


def test_states_by_their_variables(tmp_path: Path) -> None:
    """In the order of another program: the file of states says which is which."""
    model, tra, certificate = (tmp_path / f"two.{end}" for end in ("sm", "tra", "cert"))
    model.write_text(
        "ctmc module m x : [3..4]; b : bool; [] x=3 -> 2 : (x'=4) & (b'=true); [] b -> 5 : (x'=3) & (b'=false); endmodule"
    )
    stationary(read_prism(model)).certificate(certificate)
    tra.write_text("2 2\n0 1 5\n1 0 2\n")
    assert "two.sta: " in refusal(certificate, tra)
    tra.with_suffix(".sta").write_text("(b,x)\n0:(true,4)\n1:(false,3)\n")
    assert checked(certificate, tra)["rows"] == "re-derived from two.tra, exactly"
    tra.with_suffix(".sta").write_text("(b,x)\n0:(true,3)\n1:(false,3)\n")
    assert "is not in the file of states" in refusal(certificate, tra)
    tra.with_suffix(".sta").write_text("(b,y)\n")
    assert "the variables are b, y" in refusal(certificate, tra)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("model", [JacksonTandem(capacity=3), PauseTandem(buffers=(3, 4), high_threshold=3)], ids=repr)
def test_rows_of_umb_files_are_those_of_the_chain(tmp_path: Path, model: Any, exact: bool) -> None:
    write_explicit(model, tmp_path / "m.umb", exact=exact)
    stationary(read_explicit(tmp_path / "m.umb").chain).certificate(tmp_path / "m.cert")
    found = checked(tmp_path / "m.cert", tmp_path / "m.umb")
    assert found["rows"].startswith("re-derived from m.umb, ")
    assert found["rows"].endswith("exactly") or not exact
    assert found["transitions"] > 10


def changed(path: Path, name: str, change: Any) -> Path:
    """Write the archive with another content of one file."""
    other = path.with_name("other.umb")
    with tarfile.open(path) as old, tarfile.open(other, "w") as new:
        for member in old.getmembers():
            opened = old.extractfile(member)
            data = b"" if opened is None else opened.read()
            if member.name.removeprefix("./") == name:
                data = change(data)
            if data is not None:
                member.size = len(data)
                new.addfile(member, BytesIO(data))
    return other


def index_with(section: str, **changes: Any) -> Any:
    def change(data: bytes) -> bytes:
        index = json.loads(data)
        index[section] |= changes
        return json.dumps(index).encode()

    return change


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1, *data[1:]])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("index.json", index_with("transition-system", time="discrete"), "continuous time"),
        ("index.json", index_with("valuations", states={}), "has no whole numbers"),
        ("index.json", lambda _: b"{", "is no Markov chain in UMB"),
        ("branch-to-probability.bin", flipped, "has other rates"),
        ("state-to-exit-rate.bin", lambda data: data[:-1], "is no Markov chain in UMB|bytes"),
        ("state-to-exit-rate.bin", lambda _: None, "is no Markov chain in UMB"),
        ("valuations/states/valuations.bin", flipped, "is not in the file of states|other rates|not listed"),
    ],
)  # fmt: skip
def test_umb_files_that_are_refused(tmp_path: Path, name: str, change: Any, said: str) -> None:
    path = tmp_path / "m.umb"
    write_explicit(PauseTandem(buffers=(3, 4), high_threshold=3), path)
    stationary(read_explicit(path).chain).certificate(tmp_path / "m.cert")
    checked(tmp_path / "m.cert", path)
    assert re.search(said, refusal(tmp_path / "m.cert", changed(path, name, change)))


# The ending of the file's name

QUEUE = "ctmc const int N; module m x : [0..N]; [] x < N -> 1 : (x'=x+1); [] x > 0 -> 2 : (x'=x-1); endmodule"
PRISM = (".prism", ".sm", ".pm", ".ctmc")


def test_the_ending_names_the_reader(tmp_path: Path) -> None:
    certificate = tmp_path / "queue.cert"
    for suffix in PRISM:
        model = tmp_path / f"queue{suffix}"
        model.write_text(QUEUE)
        stationary(read_prism(model, constants={"N": 1})).certificate(certificate)
        assert checked(certificate, model, "N=1")["rows"].startswith(f"re-derived from queue{suffix}, ")
    rows = tmp_path / "queue.tra"
    rows.write_text("2 2\n0 1 1\n1 0 2\n")
    rows.with_suffix(".sta").write_text("(x)\n0:(0)\n1:(1)\n")
    assert checked(certificate, rows)["rows"] == "re-derived from queue.tra, exactly"
    for suffix in (*PRISM, ".jani", ".tra", ".umb"):
        assert f"none{suffix}'" in refusal(certificate, tmp_path / f"none{suffix}")
    (tmp_path / "none.umb").touch()
    assert "none.umb: is no Markov chain in UMB" in refusal(certificate, tmp_path / "none.umb")
