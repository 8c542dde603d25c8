"""Keys and schema of scenario files."""

from __future__ import annotations

import tomllib

import pytest

import dfcmodel
import responsefn
from dfcmodel import (
    FIFO,
    ScenarioFileError,
    load_scenario,
    scenario_schema,
    takano2006,
)
from responsefn import Reno
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario

# The JSON Schema of scenario files accepts what the reader accepts, and refuses wrong keys, kinds and types.

jsonschema = pytest.importorskip("jsonschema", reason="comes with nbclient, of the extra dev")

HEAD = """
duration = "3 s"
links = [{source = "a", target = "b"}, {source = "b", target = "c", rate = "100 Mb/s", discipline = "FIFO"}]
flows = [{name = "one", path = ["a", "b", "c"], source = {kind = "CUBIC", C = 0.5}, max_window = 500}]
[link]
rate = 1000.0
delay = "1 ms"
buffer = 50
"""


@pytest.fixture(scope="module")
def schema():
    jsonschema.Draft202012Validator.check_schema(scenario_schema())
    return jsonschema.Draft202012Validator(scenario_schema())


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "5", "6", "4S", "4L", "4R", "4N", "4V", "4V'"])
def test_what_is_written_is_valid(schema, name: str) -> None:
    for dfc in (True, False):
        schema.validate(tomllib.loads(write_scenario(takano2006(name, dfc=dfc))))


def test_units_defaults_and_kinds_are_valid(schema) -> None:
    assert read_scenario(HEAD).flows[0].name == "one"
    schema.validate(tomllib.loads(HEAD))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('target = "c"', 'goal = "c"'),
        ('source = "a", ', ""),
        ('"FIFO"', '"Fifo"'),
        ('"FIFO"', '{kind = "FIFO", sort = 1}'),
        ('kind = "CUBIC"', 'kind = "Cubic"'),
        ("C = 0.5", "c = 0.5"),
        ("max_window = 500", "max_window = [500]"),
        ("max_window = 500", "delayed_acks = 1"),
        ("[link]", "[links_]"),
        ("buffer = 50", 'buffer = 50\nsource = "a"'),
        ('path = ["a", "b", "c"], ', ""),
    ],
)
def test_both_refuse(schema, old: str, new: str) -> None:
    assert old in HEAD
    text = HEAD.replace(old, new, 1)
    with pytest.raises(ScenarioFileError):
        read_scenario(text)
    assert not schema.is_valid(tomllib.loads(text))


def test_every_kind_of_the_reader_is_in_it_and_rules_of_the_caller(tmp_path) -> None:
    class MyReno(Reno):
        pass

    found = scenario_schema([MyReno])["$defs"]
    public = {name: getattr(dfcmodel, name) for name in dfcmodel.__all__}
    kinds = {name for name, kind in public.items() if isinstance(kind, type) and issubclass(kind, FIFO.__base__)}
    bases = {"LinkLaw", "QueueManager", "SwitchProgram"}
    assert set(found["discipline"]["anyOf"][0]["enum"]) - {"MeanRamp"} == kinds - bases
    for name in kinds - bases:
        text = HEAD.replace('"FIFO"', f'"{name}"').replace("buffer = 50", "buffer = 5000")
        one = read_scenario(text)
        assert one.links[1].discipline == public[name]()
        assert read_scenario(write_scenario(one)) == one
    plain = scenario_schema()["$defs"]
    sources = set(plain["source"]["anyOf"][0]["enum"])
    assert set(found["source"]["anyOf"][0]["enum"]) == sources | {"MyReno"}
    assert {type(each).__name__ for each in responsefn.catalogue("rule").entries} <= sources
    with pytest.raises(TypeError, match=r"^rules\[0\] = 3: must be a class of rules"):
        scenario_schema([3])  # type: ignore[list-item]
    file = tmp_path / "mine.toml"
    file.write_text(HEAD.replace('{kind = "CUBIC", C = 0.5}', '"MyReno"'))
    assert load_scenario(file, rules=[MyReno]).flows[0].source == MyReno()


# What scenario files may contain, against the classes that are made of it.


def test_a_rule_of_the_caller_takes_the_place_of_one_of_that_name() -> None:
    mine = type("Reno", (Reno,), {})
    text = HEAD.replace('{kind = "CUBIC", C = 0.5}', '"Reno"')
    for rules, kind in (([mine], mine), ([], Reno)):
        assert type(read_scenario(text, rules=rules).flows[0].source) is kind


def test_shares_are_numbers_or_percentages(schema) -> None:
    texts = [HEAD.replace('"FIFO"', f'{{kind = "RED", low = 5, high = 15, max_p = {p}}}') for p in ("0.05", '"5%"')]
    for text in texts:
        schema.validate(tomllib.loads(text))
    numbers, percentages = map(read_scenario, texts)
    assert numbers == percentages
