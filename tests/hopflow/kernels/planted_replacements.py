"""Replacements in Numba, each planted wrong: is the code of a small function then another one?

Run as a program in a process of its own: it imports the build, which changes Numba. It prints a line of JSON: by the name of a
replacement, the effect of a wrong one. The name "" stands for all replacements as they are. Some cannot change code: for these
the effect is that of Numba's own version.
"""

from __future__ import annotations

import ctypes
import gc
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hopflow.kernels import build, native


class Pair(NamedTuple):
    """Two numbers of different types."""

    left: float
    right: int


SOURCE = """
def plain(x):
    return x

@helper
def add(pair, step):
    return Pair(pair.left + step, pair.right - 1)

@helper
def scaled(x):
    return x + 1

@helper
def row_sum(matrix, i):
    total = 0.0
    for j in range(matrix.shape[1]):
        total += matrix[i, j] * (j + 1)
    return total

@helper
def nested(a, b):
    return (a, (b, a * b)), matrix_of(a, b)

@helper
def matrix_of(a, b):
    return (a - b, a + b)

def probe(x, n):
    matrix = carray(x, (3, 4), np.float64)
    flat = carray(x, (12,), np.float64)
    record = carray(x, (2,), RECORD)
    pair = Pair(matrix[1, 2], 5)
    for k in range(3):
        pair = add(pair, float(k) * n)
    (a, (b, product)), (less, more) = nested(matrix[0, 1], matrix[2, 3])
    choice = (10.0, 20.0, 30.0)
    steps = (1, 2)
    late = n
    while late > 1.5:
        late = late / 2.0 if pair.right > 0 else late - 1.0
        flat[0] += late
    flat[1] = pair.left + pair.right
    flat[2] = row_sum(matrix, 1) + 100.0 * len(matrix)
    flat[3] = a + 2.0 * b + 4.0 * product + 8.0 * less + 16.0 * more
    flat[4] = choice[int(n)] + steps[1]
    flat[5] = scaled(7) / 2 + scaled(0.5) + 7 // 2
    record[1].amount = record[0].amount + record[1].whole
    flat[11] = late
"""
SIGNATURE = {"probe": "void(CPointer(float64), float64)"}
RECORD = np.dtype([("amount", np.float64), ("whole", np.int64), ("row", np.float64, (4,))])
N = 2.25


def start() -> np.ndarray[Any, Any]:
    """Return the array that the function reads and writes."""
    x = np.arange(1.0, 13.0) / 8.0
    x.view(RECORD)[1]["whole"] = 6
    return x


def expected() -> list[float]:
    """Return what the function writes as plain Python."""
    x = start()

    def carray(_: Any, shape: Any, dtype: Any) -> Any:
        return x.view(dtype).reshape(shape).view(np.recarray) if dtype is RECORD else x.view(dtype).reshape(shape)

    names = {"helper": lambda function: function, "carray": carray, "np": np, "Pair": Pair, "RECORD": RECORD}
    exec(SOURCE, names)  # noqa: S102
    names["probe"](x, N)  # type: ignore[operator]
    return x.tolist()  # type: ignore[no-any-return]


def written(name: str) -> list[float]:
    """Return what the compiled function writes, and raise an error where it does not after an index out of range."""
    objects = {"np": np, "Pair": Pair, "RECORD": RECORD}
    unit = build.PinnedCompiler().compile(name, SOURCE, SIGNATURE, objects)
    address = native._load_objects(unit)["probe"]
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double)(address)
    x = start()
    call(x.ctypes.data, N)
    native.check_exceptions(name)
    try:
        call(start().ctypes.data, 3.5)
        native.check_exceptions(name)
    except RuntimeError:
        return x.tolist()  # type: ignore[no-any-return]
    raise LookupError("an index out of range sets no flag")


def planted() -> dict[str, Callable[..., Any]]:
    """Return a wrong version of each replacement."""
    right = {key: by for key, (_, _, by) in build.replacements().items()}
    resolved: dict[Any, Any] = {}

    class Shifted(build._Proxy):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(max(index - 1, 0))

    def of_function(function: Any, context: Any, args: Any, kws: Any) -> Any:
        key = function, len(args)
        if key not in resolved:
            resolved[key] = right["BaseFunction.get_call_type"](function, context, args, kws)
        return resolved[key]

    def by_attribute(context: Any, kind: Any, attribute: str) -> Any:
        if attribute not in resolved:
            resolved[attribute] = right["Context.find_matching_getattr_template"](context, kind, attribute)
        return resolved[attribute]

    def without_flag(context: Any, library: Any, called: Any, env: Any, call_helper: Any) -> None:
        if_then = build.ir.IRBuilder.if_then

        def never(builder: Any, condition: Any, likely: Any = None) -> Any:
            return if_then(builder, build.ir.Constant(condition.type, 0), likely)

        build.ir.IRBuilder.if_then = never
        try:
            right["CPUContext.create_cfunc_wrapper"](context, library, called, env, call_helper)
        finally:
            build.ir.IRBuilder.if_then = if_then

    return {
        "cgutils.ValueStructProxy": Shifted,
        "cgutils.alloca_once": lambda builder, kind, size=None, name="", zfill=False: right["cgutils.alloca_once"](
            builder, build.REAL, size, name, zfill
        ),
        "interpreter.peep_hole_delete_with_exit": lambda _: None,
        "CPUContext.create_cfunc_wrapper": without_flag,
        "Context.find_matching_getattr_template": by_attribute,
        "IRBuilder.extract_value": lambda builder, value, index, name="": right["IRBuilder.extract_value"](
            builder, value, 0
        ),
        "IRBuilder.insert_value": lambda builder, aggregate, value, index, name="": aggregate,
        "IRBuilder.store": lambda builder, value, pointer, align=None: build.STORE(
            builder, build.ir.Constant(pointer.type.pointee, None), pointer, align
        ),
        "BaseFunction.get_call_type": of_function,
    }


def effect(number: int, owner: Any, name: str, by: Any) -> str:
    """Return how the code of the function differs with another version of a name of Numba; "" where it does not."""
    original = getattr(owner, name)
    setattr(owner, name, by)
    build.cgutils._struct_proxy_cache.clear()  # of classes that are made of the proxy
    try:
        return "" if written(f"planted_{number}") == expected() else "another answer"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        setattr(owner, name, original)
        build.cgutils._struct_proxy_cache.clear()


def main() -> None:
    """Print the effect of each wrong version, and that of Numba's own where no wrong one has an effect."""
    gc.disable()
    originals = {key: getattr(owner, name) for key, (owner, name, _) in build.replacements().items()}
    build.quicken()
    wrong, effects = planted(), {"": effect(0, build, "REAL", build.REAL)}
    for number, (key, (owner, name, _)) in enumerate(build.replacements().items(), 1):
        effects[key] = effect(number, owner, name, wrong.get(key, originals[key]))
    print(json.dumps({"planted": sorted(wrong), "effects": effects}))


if __name__ == "__main__":
    main()
