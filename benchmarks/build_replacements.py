"""``python -m benchmarks.build_replacements [ENGINE QUESTION]``: CPU seconds that each replacement in Numba saves.

The build (`hopflow.kernels.build`) replaces names of Numba and llvmlite. An engine is compiled with all of them and without each,
in processes of their own; the default is the packet level's. Where the engine does not compile without one, the error is printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ALL = "all of them"


class _Requested(BaseException):
    """An engine is to be compiled: nothing else is wanted of a question."""


def request_of(package: str, question: str) -> tuple[str, str, bytes]:
    """Return package, module and pickled kinds of the engine that a question of `first_uses` needs first."""
    from hopflow.kernels import engines, native

    requests: list[tuple[str, str, bytes]] = []

    def take(name: str, package: str, module: str, kinds: tuple[Any, ...]) -> native.Unit:
        requests.append((package, module, pickle.dumps((name, kinds))))
        raise _Requested

    engines.compile_engine = take
    with tempfile.TemporaryDirectory() as empty:
        native.ARCHIVES = Path(empty)
        native._read_archive = native._archive = lambda *_: None  # type: ignore[assignment]
        from hopflow.kernels import cache

        cache.read = lambda *_: None
        try:
            importlib.import_module(f"{package}.first_uses").short_calls()[question]()
        except _Requested:
            return requests[0]
    raise SystemExit(f"{package}: {question} needs no engine")


def compile_without(key: str, request: tuple[str, str, bytes]) -> None:
    """Compile an engine without one replacement, and print CPU seconds and bytes of object code, or the error."""
    import gc

    from hopflow.kernels import build

    gc.disable()
    build.quicken({key})
    start = time.process_time()
    try:
        unit = build.compile_engine(*request)
    except Exception as error:  # noqa: BLE001
        print(json.dumps({"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}))
    else:
        print(json.dumps({"seconds": time.process_time() - start, "bytes": sum(map(len, unit.objects))}))


def main() -> None:
    """Print a line for each replacement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build_replacements", description=__doc__)
    parser.add_argument("package", nargs="?", default="dfcmodel")
    parser.add_argument("question", nargs="?", default="packets")
    parser.add_argument("--without", help="compile the request of standard input once, without this name; print JSON")
    options = parser.parse_args()
    if options.without is not None:
        compile_without(options.without, pickle.load(sys.stdin.buffer))
        return
    request = pickle.dumps(request_of(options.package, options.question))
    code = "from hopflow.kernels import build; print('\\n'.join(build.replacements()))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    base = 0.0
    for name in (ALL, *names):
        command = [sys.executable, "-m", "benchmarks.build_replacements", "--without", name]
        run = subprocess.run(command, input=request, capture_output=True, check=False)
        result: dict[str, Any] = (
            json.loads(run.stdout.splitlines()[-1]) if run.stdout else {"error": run.stderr.decode()[-200:]}
        )
        if "error" in result:
            print(f"{name:46} {result['error']}", flush=True)
            continue
        base = base or result["seconds"]
        print(f"{name:46} {result['seconds'] - base:+6.1f} s of {base:.1f} s, {result['bytes']:,} bytes", flush=True)


if __name__ == "__main__":
    main()
