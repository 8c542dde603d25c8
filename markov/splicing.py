"""How a model's rules get into a kernel: the statements that templates name, by the model's components."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.rules import ChainModel

__all__ = ["spliced"]


def spliced(
    template: Callable[..., Any],
    model: ChainModel,
    q: tuple[Any, ...],
    *arrays: NDArray[Any],
    compiled: bool = True,
) -> Any:
    """Return a template with the model's rules and its components spliced in.

    ``x``, the number of a state in the product space, is decoded to ``s``; ``advance`` makes ``s`` the
    state after it. ``encode`` compares ``target`` with ``s``: ``step`` is the difference of their
    numbers, the same for all states that a rule changes in the same way, which the compiler sees;
    ``inside`` says whether the target is in the space. A row, from its column ``own`` on, is
    written by ``begin``, ``record`` and ``end``; entries find their places one by one, from the end of
    the row, and those of one column become one when the row is complete.
    ``arrays`` are arguments of the kernel whose type is not always the same.
    """
    from hopflow.kernels import build, shape_of

    fields, symbols = model.State._fields, model.symbols()._fields
    return build(
        template,
        rules={"rules": model.rules},
        snippets=_snippets(fields, len(symbols)),
        tuples={"State": fields, "Symbols": symbols},
        salt=",".join(map(shape_of, (q, *arrays))) + str(len(fields)),
        compiled=compiled,
    )


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
        "begin": _BEGIN,
        "record": _RECORD,
        "end": _END,
    }


_BEGIN = """
start = k
total = 0.0
twins = False
"""
_INSERT = """
_m = k
while _m > start and indices[_m - 1] > column:
    indices[_m] = indices[_m - 1]
    rates[_m] = rates[_m - 1]
    _m -= 1
indices[_m] = column
rates[_m] = rate
k += 1
"""
_RECORD = f"""
total += rate
{_INSERT}
if _m > start and indices[_m - 1] == column:
    twins = True
"""
_END = f"""
if total > 0.0:
    column = own
    rate = -total
    {_INSERT.replace(chr(10), chr(10) + "    ").strip()}
    if twins:
        _m = start
        for _n in range(start + 1, k):
            if indices[_n] == indices[_m]:
                rates[_m] += rates[_n]
            else:
                _m += 1
                indices[_m] = indices[_n]
                rates[_m] = rates[_n]
        k = _m + 1
"""
