"""The container's image: the engine that builds and runs it, its archive, and the demo in it.

ENGINE names the engine, for example `docker` or `sudo podman`. Without it, Podman (by podman.sh) or Docker is
taken, whichever works here.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from functools import cache
from pathlib import Path

from support.fixtures.documents import ROOT
from vm import root_filesystem

WORK = ROOT / "build" / "container"
IMAGE = "polarlab"
_PODMAN = Path(__file__).with_name("podman.sh")
_OWN_DEBIAN = "localhost/debian:bookworm-slim"
# Debian's images for containers have these folders empty.
_EMPTIED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man")


class EngineError(Exception):
    """No container engine works here, or one failed; the text says why, in one line."""


@cache
def program() -> list[str]:
    """Returns the words that start the container engine.

    Raises:
        EngineError: none works.
    """
    if named := shlex.split(os.environ.get("ENGINE", "")):
        return named
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    engines = [[*sudo, str(_PODMAN)]] if shutil.which("podman") else []
    engines += [["docker"]] if shutil.which("docker") else []
    for words in engines:
        if subprocess.run([*words, "info"], capture_output=True, check=False).returncode == 0:
            return words
    raise EngineError("neither Podman nor Docker works here")


def is_docker() -> bool:
    """Returns whether the engine is Docker, some of whose options differ from Podman's."""
    return Path(program()[-1]).name == "docker"


def engine(*words: str, project: Path = ROOT, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs the container engine in a folder; returns what it and the program in a container printed.

    Raises:
        EngineError: it failed, and `check` is set.
    """
    done = subprocess.run([*program(), *words], cwd=project, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise EngineError(f"{words[0]} ended with status {done.returncode}: {done.stderr[-4000:].strip()}")
    return done


@cache
def debian() -> tuple[str, ...]:
    """Returns the options with which images are built here: none if Debian's image can be fetched."""
    [image] = re.findall(r"^ARG DEBIAN=(.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    if engine("pull", image, check=False).returncode == 0:
        return ()
    if engine("image", "inspect", _OWN_DEBIAN, check=False).returncode:
        archive = _debootstrap()
        engine("import", str(archive), _OWN_DEBIAN)
        archive.unlink()
    return ("--build-arg", f"DEBIAN={_OWN_DEBIAN}")


def build(*options: str, tag: str = IMAGE, project: Path = ROOT) -> None:
    """Builds an image from a folder with the project."""
    given = ("--network=host", *debian(), *options)
    engine("build", *given, "--file", "Containerfile", "--tag", tag, ".", project=project)


def save(archive: Path, tag: str = IMAGE) -> None:
    """Writes an image as a .tar.gz archive, which `podman load` and `docker load` read."""
    with (
        subprocess.Popen([*program(), "save", tag], stdout=subprocess.PIPE) as saving,
        archive.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as compressed,
    ):
        assert saving.stdout
        shutil.copyfileobj(saving.stdout, compressed, 1 << 20)
    if saving.returncode:
        raise EngineError(f"save ended with status {saving.returncode}")


def run_demo(*options: str, tag: str = IMAGE) -> None:
    """Runs the lines of `make demo` in a container with further options."""
    given = ["make", "--dry-run", "demo", "POLARLAB=polarlab", "SUDO="]
    lines = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^polarlab (?:.*\\\n)*.*$", lines, re.MULTILINE)
    assert len(commands) == 4
    script = "set -e\n" + "\n".join(commands)
    engine("run", "--rm", "--privileged", "--user=root", *options, "--entrypoint=sh", tag, "-c", script)


def _debootstrap() -> Path:
    """Makes what Debian's image for containers has, and returns an archive of it."""
    root, archive = WORK / "debian", WORK / "debian.tar"
    WORK.mkdir(parents=True, exist_ok=True)
    root_filesystem.bootstrap(root, "bookworm", ["ca-certificates"], WORK / "debootstrap.log")
    policy = root / "usr" / "sbin" / "policy-rc.d"  # packages start no services
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    if any((root / "usr/local/share/ca-certificates").iterdir()):
        bundle = "/etc/ssl/certs/ca-certificates.crt"
        (root / "etc" / "pip.conf").write_text(f"[global]\ncert = {bundle}\n")

    emptied = tuple(f"./{folder}/" for folder in _EMPTIED)

    def kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if member.name.startswith(emptied) else member

    with tarfile.open(archive, "w") as packed:
        packed.add(root, ".", filter=kept)
    return archive
