"""How a model's rules get into a kernel: the statements that templates name, by the model's components."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markov.models.rules import ChainModel

__all__ = ["is_cached", "spliced"]


def spliced(template: Callable[..., Any], model: ChainModel) -> Any:
    """Return a template with the model's rules and its components spliced in, compiled.

    ``x``, the number of a state in the product space, is decoded to ``s``; ``advance`` makes ``s`` the
    state after it. ``encode`` compares ``target`` with ``s``: ``step`` is the difference of their
    numbers, the same for all states that a rule changes in the same way, which the compiler sees;
    ``inside`` says whether the target is in the space.

    Raises
    ------
    KernelError
        When the rules cannot be compiled.
    """
    from hopflow.kernels import build

    return build(template, **_parts(model))


def is_cached(template: Callable[..., Any], model: ChainModel) -> bool:
    """Return whether the kernel was compiled before, in this process or another."""
    from hopflow.kernels import is_built

    return is_built(template, **_parts(model))


def _parts(model: ChainModel) -> dict[str, Any]:
    from hopflow.kernels import shape_of

    fields, q = model.State._fields, model.symbols()
    return {
        "rules": {"rules": model.rules},
        "snippets": _snippets(fields, len(q._fields)),
        "tuples": {"State": fields, "Symbols": q._fields},
        "salt": f"{shape_of(tuple(q))}{len(fields)}",
        "checked": True,
    }


@lru_cache(maxsize=64)
def _snippets(fields: tuple[str, ...], symbols: int) -> dict[str, str]:
    """Return the statements that translate between numbers and states with these fields."""
    places = range(len(fields))
    unpack = [f"q = Symbols({', '.join(f'parameters[{n}]' for n in range(symbols))})"]
    if symbols == 0:
        unpack = ["pass"]
    unpack.append(f"_w{places[-1]} = 1")
    unpack += [f"_w{n} = _w{n + 1} * size[{n + 1}]" for n in reversed(places[:-1])]
    state = f"s = State({', '.join(f'_r{n}' for n in places)},)"
    decode, advance = ["_rest = x"], []
    for depth, n in enumerate(reversed(places)):
        decode += [f"_r{n} = low[{n}] + _rest % size[{n}]", f"_rest //= size[{n}]"]
        indent = "    " * depth
        advance += [f"{indent}_r{n} += 1", f"{indent}if _r{n} == low[{n}] + size[{n}]:"]
        advance.append(f"{indent}    _r{n} = low[{n}]")
    encode = [f"_d{n} = int(target.{f}) - _r{n}" for n, f in enumerate(fields)]
    checks = [f"(_d{n} == 0 or 0 <= _r{n} + _d{n} - low[{n}] < size[{n}])" for n in places]
    checks += [f"_r{n} + _d{n} == target.{f}" for n, f in enumerate(fields)]
    encode.append(f"inside = {' and '.join(checks)}")
    encode.append(f"step = {' + '.join(f'_d{n} * _w{n}' for n in places)}")
    return {
        "unpack": "\n".join(unpack),
        "decode": "\n".join([*decode, state]),
        "advance": "\n".join([*advance, state]),
        "encode": "\n".join(encode),
    }
