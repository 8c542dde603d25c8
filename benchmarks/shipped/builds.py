"""Sources of shipped stacks, fetched by the clients of their registries, checked by SHA-256, and compiled with adapters."""

from __future__ import annotations

import csv
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dfcmodel import cc_header

__all__ = ["BUILDS", "STACKS", "NotRunError", "Unit", "build_connection", "units_of"]

HERE = Path(__file__).parent
STACKS: dict[str, Any] = tomllib.loads((HERE / "stacks.toml").read_text(encoding="utf-8"))
DEBIAN_SUITES = ("bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid")
MANIFEST = """\
[package]
name = "adapter"
version = "0.0.0"
edition = "2021"
[dependencies]
{crate} = {{ version = "={release}", default-features = false }}
rustls = {{ version = "0.23", default-features = false, features = ["ring", "std"], optional = true }}
[features]
connection = ["dep:rustls", "{crate}/rustls-ring"]
[lib]
crate-type = ["cdylib"]
[[bin]]
name = "connection"
path = "src/connection.rs"
required-features = ["connection"]
[lints.rust]
unexpected_cfgs = "allow"
"""
OPTIONS = "--release", "--locked", "-q"
"""Options of Cargo."""


class NotRunError(Exception):
    """Raised for a release that cannot be had or compiled here; has the reason."""


class Unit(NamedTuple):
    """An algorithm of a release. ``variant`` names a line that is put in; "": as released."""

    stack: str
    release: str
    sha256: str
    algorithm: str
    variant: str = ""


def units_of(stack: str, release: str) -> Iterator[Unit]:
    """Yield the algorithms of a release, and those with a line put in."""
    table = STACKS[stack]
    sha256 = table["releases"][release]["sha256"]
    for algorithm in table["algorithms"]:
        yield Unit(stack, release, sha256, algorithm)
    for name, variant in table.get("variants", {}).items():
        if release in variant["releases"]:
            yield Unit(stack, release, sha256, f"{variant['algorithm']}, {name}", name)


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a program in a folder and return its output; raise NotRunError if it fails."""
    if shutil.which(str(command[0])) is None:
        raise NotRunError(f"needs {command[0]}, which is not on the path")
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
        raise NotRunError(f"{command[0]}: {lines[-1]}")
    return done.stdout


def debian_mirror() -> str:
    """Return the address of the packages of Debian that this machine has configured."""
    top = Path("/etc/apt")
    for file in (
        *sorted(top.glob("sources.list.d/*.sources")),
        top / "sources.list",
        *sorted(top.glob("sources.list.d/*.list")),
    ):
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        for address in re.findall(r"^(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(\S+)", text, re.MULTILINE):
            if address.rstrip("/").endswith("/debian"):
                return str(address)
    raise NotRunError("no source of Debian packages is configured")


def fetch_debian(stack: str, release: str, folder: Path) -> Path:
    """Fetch the archive of a release from whichever suite serves it, and return the folder of its sources."""
    wanted = STACKS[stack]["releases"][release]
    mirror = debian_mirror()
    lists = folder / "apt"
    (lists / "lists" / "partial").mkdir(parents=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    served: dict[str, str] = {}
    for suite in DEBIAN_SUITES:
        (lists / "sources.list").write_text(f"deb-src [signed-by={keys}] {mirror} {suite} main\n", encoding="utf-8")
        options = [
            f"-oDir::Etc::sourcelist={lists / 'sources.list'}", "-oDir::Etc::sourceparts=/dev/null",
            f"-oDir::State::lists={lists / 'lists'}", f"-oDir::Cache={lists}",
        ]  # fmt: skip
        try:
            run("apt-get", *options, "update", folder=folder)
            text = run("apt-cache", *options, "showsrc", stack, folder=folder)
        except NotRunError as error:
            served[suite] = str(error)
            continue
        version = re.search(r"^Version: (\S+)", text, re.MULTILINE)
        served[suite] = version[1] if version else "none"
        if version is None or wanted["sha256"] not in text:
            continue
        try:
            run("apt-get", *options, "source", "--download-only", "--tar-only", f"{stack}={version[1]}", folder=folder)
        except NotRunError as error:
            served[suite] += f" ({error})"
            continue
        return unpack(folder / wanted["file"], wanted["sha256"])
    raise NotRunError("served are " + ", ".join(f"{version} in {suite}" for suite, version in served.items()))


def unpack(archive: Path, sha256: str) -> Path:
    """Unpack an archive with the expected SHA-256, and return its only folder."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        raise NotRunError(f"{archive.name} has the SHA-256 {found}, which is not known")
    target = archive.parent / "sources"
    with tarfile.open(archive) as content:
        content.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


def build_debian(stack: str, release: str, folder: Path) -> Callable[[Unit], Path]:
    """Return a function that compiles an algorithm of a release."""
    sources = fetch_debian(stack, release, folder)
    table = STACKS[stack]

    def build(unit: Unit) -> Path:
        place, algorithm = sources, unit.algorithm
        if unit.variant:
            variant = table["variants"][unit.variant]
            place, algorithm = folder / "variant", variant["algorithm"]
            shutil.copytree(sources, place)
            put_line(place / variant["file"], variant["after"].removeprefix("\n"), variant["line"])
        library = place / "lib"
        files = [library / f"{stack}_{name}.c" for name in table["sources"]]
        target = folder / f"{stack}-{release}-{unit.algorithm.replace(' ', '-')}.so"
        run(
            "cc", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffunction-sections", "-Wl,--gc-sections",
            "-Wl,-z,defs", f"-DALGORITHM={table['algorithms'][algorithm]}", "-I", cc_header(), "-I", library,
            "-I", library / "includes", HERE / f"{stack}_adapter.c", *(file for file in files if file.exists()),
            "-o", target, "-lm", folder=folder,
        )  # fmt: skip
        return target

    return build


def put_line(file: Path, after: str, line: str) -> None:
    """Put a line into an unpacked file."""
    text = file.read_text(encoding="utf-8")
    if text.count(after) != 1:
        raise NotRunError(f"{file.name} has {text.count(after)} places for the line, not 1")
    file.write_text(text.replace(after, after + line), encoding="utf-8")


def build_crate(stack: str, release: str, folder: Path) -> Callable[[Unit], Path]:
    """Return a function that compiles an algorithm of a release with the known versions of its dependencies."""
    (folder / "src").mkdir()
    (folder / "Cargo.toml").write_text(MANIFEST.format(crate=stack, release=release), encoding="utf-8")
    shutil.copy(HERE / "quinn_adapter.rs", folder / "src" / "lib.rs")
    shutil.copy(HERE / "quinn_connection.rs", folder / "src" / "connection.rs")
    shutil.copy(cc_header() / "hopflow_cc.rs", folder / "src")
    lock_crates(stack, release, folder)

    def build(unit: Unit) -> Path:
        name = STACKS[stack]["algorithms"][unit.algorithm]
        run("cargo", "rustc", *OPTIONS, "--lib", "--", "--cfg", f'algorithm="{name}"', folder=folder)
        return Path(shutil.copy(target_of(folder) / "libadapter.so", folder / f"{name}.so"))

    return build


def build_connection(folder: Path) -> Path:
    """Return the program that runs whole connections of the crate whose adapter is built in a folder."""
    run("cargo", "build", *OPTIONS, "--features", "connection", "--bin", "connection", folder=folder)
    return Path(shutil.copy(target_of(folder) / "connection", folder / "connection"))


def target_of(folder: Path) -> Path:
    """Return where Cargo writes; a folder of the user is kept between runs."""
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target")) / "release"


def lock_crates(stack: str, release: str, folder: Path) -> None:
    """Write a lock with the versions of ``crates.csv``; raise NotRunError where it differs."""
    with (HERE / "crates.csv").open(encoding="utf-8", newline="") as file:
        known = {
            (row["name"], row["version"]): row["sha256"] for row in csv.DictReader(file) if row["release"] == release
        }
    run("cargo", "generate-lockfile", folder=folder)
    for name, version in locked(folder):
        versions = [v for n, v in known if n == name]
        if versions and version not in versions:
            run("cargo", "update", "-p", f"{name}@{version}", "--precise", versions[-1], folder=folder)
    different = sorted(set(locked(folder).items()) ^ set(known.items()))
    if different:
        (name, version), _ = different[0]
        raise NotRunError(f"{len(different)} dependencies differ from crates.csv, such as {name} {version}")
    if known[stack, release] != STACKS[stack]["releases"][release]["sha256"]:
        raise NotRunError(f"crates.csv and stacks.toml differ in the SHA-256 of {stack} {release}")


def locked(folder: Path) -> dict[tuple[str, str], str]:
    """Return the SHA-256 of each locked crate by name and version."""
    content = tomllib.loads((folder / "Cargo.lock").read_text(encoding="utf-8"))
    return {(row["name"], row["version"]): row["checksum"] for row in content["package"] if "checksum" in row}


BUILDS: dict[str, Callable[[str, str, Path], Callable[[Unit], Path]]] = {"debian": build_debian, "crate": build_crate}
"""By kind of source: functions of a stack, a release and a folder that fetch the release."""
