"""Native rules that tests compile, where there are compilers.

``HOPFLOW_COMPILERS`` has the names of compilers that must be found: without them tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dfcmodel import NativeRule, cc_header

FOLDER = Path(__file__).parent
C_OPTIONS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wno-unused-function", "-O2", "-ffp-contract=off")
RUST_OPTIONS = ("-O", "-C", "debug-assertions", "-D", "warnings", "--edition", "2021", "--crate-type", "cdylib")
Build = Callable[..., Path]


def find(compiler: str) -> str:
    """Return the path of a compiler; skip the test without it, or fail where it must be there."""
    path = shutil.which(compiler)
    if path is None:
        if compiler in os.environ.get("HOPFLOW_COMPILERS", "").split():
            pytest.fail(f"{compiler} is not on the path, and HOPFLOW_COMPILERS names it")
        pytest.skip(f"needs the compiler {compiler}, which is not on the path")
    return path


def run(*command: str | Path) -> None:
    """Run a compiler; a warning is an error."""
    toolchains = os.environ["HOPFLOW_RUSTUP_HOME"]  # of the user: rustc has no other
    environment = {**os.environ, **({"RUSTUP_HOME": toolchains} if Path(toolchains).exists() else {})}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that compiles a source file of this folder, once for the same definitions."""
    folder, built = tmp_path_factory.mktemp("native"), dict[tuple[str, ...], Path]()

    def compile_(source: str, *definitions: str, compiler: str = "cc") -> Path:
        key = (compiler, source, *definitions)
        if key not in built:
            target = folder / f"{Path(source).stem}-{len(built)}.so"
            if source.endswith(".rs"):
                find("cc")  # which links
                run(find("rustc"), *RUST_OPTIONS, FOLDER / source, "-o", target)
            else:
                defines = [f"-D{text}" for text in definitions]
                shared = ("-fPIC", "-shared", "-I", cc_header(), FOLDER / source, "-o", target, "-lm")
                run(find(compiler), *C_OPTIONS, *defines, *shared)
            built[key] = target
        return built[key]

    return compile_


@pytest.fixture
def native(build: Build) -> Callable[..., NativeRule]:
    """Return a function that compiles a source file and returns its rule."""
    return lambda source, *definitions, **options: NativeRule(build(source, *definitions, **options))
