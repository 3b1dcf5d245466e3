"""Release in dist/, built, tried and described: `make release`.

    python tests/release.py [--draft] [--unaudited] [--no-container] [--systems SUITE ...]

1. The wheel and the source archive are built twice from the committed files, in different folders; both must
   be equal byte for byte. Times in them are that of the last commit (SOURCE_DATE_EPOCH).
2. Each is installed into an environment of its own, where an ordinary user with an empty home runs what needs
   no root.
3. A list of components (CycloneDX) describes the environment of the wheel. pip-audit looks up known holes of
   the packages in it, and of those in vagrant/requirements.lock, from which set-ups and the image are made.
4. The container's image is built from the committed files, runs the demo, and is saved (tests/container).
5. Bare systems get the wheel and the sources, and run the demo (tests/vm/systems.py).
6. The notes are the newest section of the changelog. SHA256SUMS has the checksums of all files.

A release must be described in the changelog by a section with its version and date, and its image is built on
the image of Debian that Containerfile names; `--draft` takes a section without, and another image of Debian.
`--unaudited` continues if the service of pip-audit cannot be reached, `--no-container` leaves the image out,
and `--systems` without names leaves the bare systems out.
"""

from __future__ import annotations

import argparse
import configparser
import gzip
import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from container import image
from vm.steps import StepError

ROOT = Path(__file__).resolve().parents[1]
DIST, WORK = ROOT / "dist", ROOT / "build" / "release"
LOCK = ROOT / "vagrant" / "requirements.lock"
TOOLS = ("cyclonedx-bom >= 7, < 8", "pip-audit >= 2.9, < 3")
# What a user without root tries first.
LINES = (
    "polarlab --version",
    "polarlab topology polarfly --q 7 --figure er7.png",
    "polarlab verify polarfly --q 4 --routing ugal-pf --failures links",
    "polarlab paper polarfly fig2",
    "polarlab simulate polarfly --q 3 --out simulated",
    "polarlab report simulated",
)
# Settings of debootstrap, which sudo would drop.
PASSED_ON = ("DEBIAN_MIRROR", "APT_SETTINGS")
SYSTEMS = ("bookworm", "trixie")
_RYU = "Ryu gets only messages that controller.openflow has checked, and only if users ask for this framework"
_SETUPTOOLS = "only builds Ryu, which builds with no newer one; neither the wheel nor the image has it"
# Known holes of packages in the lock file that have no version without them, and why they are accepted.
ACCEPTED = {
    "CVE-2024-6345": f"setuptools {_SETUPTOOLS}",
    "CVE-2025-47273": f"setuptools {_SETUPTOOLS}",
    **dict.fromkeys((f"CVE-2024-{number}" for number in (34483, 34484, *range(34486, 34490))), _RYU),
}


class ReleaseError(Exception):
    """There is no release; the text says why, in one line."""


def main(words: Sequence[str]) -> int:
    """Builds a release and returns the exit status."""
    parser = argparse.ArgumentParser(description="build, try and describe a release in dist/")
    parser.add_argument("--draft", action="store_true", help="take a changelog section without a version")
    parser.add_argument(
        "--unaudited", action="store_true", help="continue if known holes cannot be looked up"
    )
    parser.add_argument("--no-container", action="store_true", help="leave out the container's image")
    parser.add_argument(
        "--systems", nargs="*", default=SYSTEMS, metavar="SUITE", help="Debian's names of bare systems"
    )
    arguments = parser.parse_args(words)
    try:
        release(arguments)
    except (ReleaseError, image.EngineError, StepError) as error:
        say(str(error))
        return 3
    return 0


def release(arguments: argparse.Namespace) -> None:
    """Puts all files of a release into dist/."""
    os.umask(0o022)  # the modes of archived files follow it
    version = declared_version()
    notes = newest_section((ROOT / "CHANGELOG.md").read_text(), version, draft=arguments.draft)
    if changed := output(["git", "status", "--porcelain"]):
        raise ReleaseError(f"{changed.split()[1]} is not committed; a release has committed files only")
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    epoch = int(output(["git", "log", "-1", "--format=%ct"]))
    say(f"building {version} of {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(epoch))} UTC twice")
    wheel, sources = build_twice(epoch)
    (DIST / f"polarlab-{version}-notes.md").write_text(notes)
    # Other users can enter it, wherever the checkout is.
    with tempfile.TemporaryDirectory(prefix="polarlab-release-") as folder:
        Path(folder).chmod(0o755)
        environment = try_out(wheel, Path(folder) / "wheel")
        try_out(sources, Path(folder) / "sources")
        tools = WORK / "tools"
        venv.create(tools, with_pip=True)
        run([tools / "bin" / "pip", "install", "-qq", "--disable-pip-version-check", *TOOLS])
        components = DIST / f"polarlab-{version}.cdx.json"
        dated = {"SOURCE_DATE_EPOCH": str(epoch)}
        describe = [tools / "bin" / "cyclonedx-py", "environment", "--output-reproducible", "-o", components]
        run([*describe, environment / "bin" / "python"], env={**os.environ, **dated})
        [packages] = environment.glob("lib/python*/site-packages")
        auditor = tools / "bin" / "pip-audit"
        audit([auditor, "--path", packages], "the wheel's environment", unaudited=arguments.unaudited)
        locked = ["--requirement", LOCK, "--disable-pip", "--no-deps"]
        accepted = [word for hole in ACCEPTED for word in ("--ignore-vuln", hole)]
        audit([auditor, *locked, *accepted], LOCK.name, unaudited=arguments.unaudited)
    if arguments.no_container:
        say("NO CONTAINER: --no-container leaves its image out")
    else:
        add_image(version, draft=arguments.draft)
    if arguments.systems:
        try_in_systems(arguments.systems, wheel, sources)
    else:
        say("NOT TRIED in bare systems: --systems names none")
    write_checksums(DIST)
    print((DIST / "SHA256SUMS").read_text(), end="")


def declared_version() -> str:
    """Returns the version in setup.cfg."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    return settings["metadata"]["version"]


def newest_section(changes: str, version: str, *, draft: bool) -> str:
    """Returns the text of a changelog's first section.

    Raises:
        ReleaseError: it is not that of the version, and this is no draft.
    """
    _, heading, text = re.split(r"^## (.+)$", changes, maxsplit=1, flags=re.MULTILINE)
    if not draft and not heading.startswith(f"{version} - "):
        raise ReleaseError(f"the newest section of CHANGELOG.md is {heading!r}, not {version}; see --draft")
    return re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0].strip() + "\n"


def build_twice(epoch: int) -> tuple[Path, Path]:
    """Builds the wheel and the source archive in two folders, and returns those in dist/.

    Raises:
        ReleaseError: they differ.
    """
    for folder in (WORK / "first", WORK / "second"):
        project = folder / "project"
        project.mkdir(parents=True)
        archive = folder / "project.tar"
        run(["git", "archive", "--output", archive, "HEAD"])
        run(["tar", "--extract", "--no-same-permissions", "--file", archive, "--directory", project])
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist"]
        run(build, cwd=project, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
        [sources] = (folder / "dist").glob("*.tar.gz")
        make_reproducible(sources, epoch)
    for file in sorted((WORK / "first" / "dist").iterdir()):
        if file.read_bytes() != (WORK / "second" / "dist" / file.name).read_bytes():
            raise ReleaseError(f"{file.name} differs between two builds; both are in {WORK}")
        shutil.copy(file, DIST)
    [wheel], [sources] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sources


def make_reproducible(archive: Path, epoch: int) -> None:
    """Removes from a .tar.gz archive what depends on when, where and by whom it was made."""
    new = archive.with_suffix(".new")
    with (
        tarfile.open(archive) as before,
        new.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=epoch) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda one: one.name):
            member.mtime, member.pax_headers = epoch, {}
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            after.addfile(member, before.extractfile(member) if member.isfile() else None)
    new.replace(archive)


def try_out(archive: Path, environment: Path) -> Path:
    """Installs an archive into a new environment and runs LINES in it; returns the environment.

    If this process is root's, an ordinary user runs them; none of the caller's variables reach them.

    Raises:
        ReleaseError: a line fails.
    """
    say(f"installing {archive.name} into an environment of its own")
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    run([sys.executable, "-m", "pip", "--python", python, "install", "-qq", archive])
    with tempfile.TemporaryDirectory() as home:
        words = ["env", "-i", f"HOME={home}", "LANG=C.UTF-8", f"PATH={environment / 'bin'}:/usr/bin:/bin"]
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
            user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
            words = [*user, *words]
        for line in LINES:
            started = time.monotonic()
            run([*words, *line.split()], cwd=Path(home))
            say(f"{time.monotonic() - started:6.1f} s  {line}")
    return environment


def audit(command: Sequence[str | Path], what: str, *, unaudited: bool) -> None:
    """Looks up known holes of packages.

    Args:
        command: pip-audit, with the options that name the packages and the holes that are accepted.
        what: where the packages are, in words.
        unaudited: whether to continue if some could not be looked up.

    Raises:
        ReleaseError: there are holes, or the service did not answer and that is not accepted.
    """
    options = ["--format", "json", "--progress-spinner", "off"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    holes, unknown, count = read_audit(done.stdout)
    if holes:
        raise ReleaseError(
            f"known holes in {what}: {', '.join(holes)}; raise the bounds in setup.cfg and `make lock`"
        )
    if unknown or not count:
        which = f"{len(unknown)} of {count} packages" if count else "any package"
        reason = next(iter(unknown.values()), last_line(done.stderr)) or "it gives no reason"
        text = f"pip-audit could not look up {which} of {what}: {reason}"
        if not unaudited:
            raise ReleaseError(f"{text}; --unaudited continues without it")
        say(f"NOT AUDITED: {text}")
    else:
        say(f"pip-audit knows no hole of the {count} packages of {what}")


def read_audit(text: str) -> tuple[list[str], dict[str, str], int]:
    """Returns (known holes, package -> why it was not looked up, number of packages) of pip-audit's JSON.

    PolarLab itself is in no package index.
    """
    packages = json.loads(text)["dependencies"] if text.strip() else []
    others = [one for one in packages if one["name"] != "polarlab"]
    holes = [
        f"{one['name']} {one['version']} ({hole['id']})" for one in others for hole in one.get("vulns", ())
    ]
    unknown = {one["name"]: one["skip_reason"] for one in others if "skip_reason" in one}
    return holes, unknown, len(others)


def add_image(version: str, *, draft: bool) -> None:
    """Builds the container's image from the committed files, runs the demo in it, and saves it in dist/.

    Raises:
        ReleaseError: Debian's image cannot be fetched, and this is no draft.
        EngineError: no container engine works here, or it failed.
    """
    say(f"building the container's image with {' '.join(image.program())}")
    if image.debian():
        text = "the image of Debian that Containerfile names cannot be fetched"
        if not draft:
            raise ReleaseError(f"{text}; --draft takes one that debootstrap makes")
        say(f"DRAFT: {text}; debootstrap has made another one")
    tag = f"{image.IMAGE}:{version}"
    image.build(tag=tag, project=WORK / "first" / "project")
    say("running the demo in it")
    with tempfile.TemporaryDirectory() as folder:
        image.run_demo("--volume", f"{folder}:/work", tag=tag)
    image.save(DIST / f"polarlab-{version}-image.tar.gz", tag)


def try_in_systems(suites: Sequence[str], wheel: Path, sources: Path) -> None:
    """Tries the wheel and the sources in bare systems.

    Raises:
        ReleaseError: a step failed there.
    """
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    passed_on = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    python = [*sudo, "env", f"PYTHONPATH={ROOT / 'tests'}", *passed_on, sys.executable]
    words = ["-m", "vm.systems", "--wheel", str(wheel), "--sources", str(sources), *suites]
    if subprocess.run([*python, *words], cwd=ROOT, check=False).returncode:
        raise ReleaseError("the release does not work in a bare system")


def write_checksums(folder: Path) -> None:
    """Writes SHA256SUMS, which `sha256sum --check` reads, for all files of a folder."""
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


def output(command: Sequence[str]) -> str:
    """Returns what a command prints, without the end of the line.

    Raises:
        ReleaseError: it fails, as git does where there is no repository.
    """
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"`{' '.join(command)}` failed: {last_line(done.stderr)}")
    return done.stdout.rstrip("\n")


def run(command: Sequence[str | Path], cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Runs a command without showing what it prints.

    Raises:
        ReleaseError: it fails; the text has its last line, and all of it is in a log.
    """
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        log = WORK / "log"
        log.write_text(done.stdout + done.stderr)
        name = " ".join(Path(word).name for word in command[-3:])
        last = last_line(done.stdout + done.stderr)
        raise ReleaseError(f"{name} ended with status {done.returncode}: {last} (all of it: {log})")


def last_line(text: str) -> str:
    """Returns the last line of what a program printed; empty if it printed none."""
    return (text.strip().splitlines() or [""])[-1]


def say(text: str) -> None:
    """Shows progress."""
    print(f"release: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
