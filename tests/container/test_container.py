"""The container's image: its size, commands without root, and fabrics with few rights and with all.

Podman builds and runs it (tests/container/podman.sh), or another engine that CONTAINER_ENGINE names. Where
Debian's image cannot be fetched, debootstrap makes one.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from support.builders import wheels
from support.fixtures.documents import ROOT, page_lines

from topology.errors import Status

PODMAN = ROOT / "tests" / "container" / "podman.sh"
WORK = ROOT / "build" / "container"
INSTALLATION = ROOT / "docs" / "how-to" / "install.md"
IMAGE = "polarlab"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
MOST_BYTES, MOST_COMPRESSED_BYTES = 950_000_000, 350_000_000
USER = 12_345  # owns a folder that the container sees, and is not in the image

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="fabrics in containers need root"),
    pytest.mark.timeout(3600),
]


def engine(*words, check=True):
    """Runs the container engine; returns what it and the program in a container printed, and its status."""
    program = os.environ.get("CONTAINER_ENGINE") or (PODMAN if shutil.which("podman") else "docker")
    if not shutil.which(str(program)):
        pytest.skip("neither podman nor docker is installed")
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr[-4000:]
    return done


def in_container(line, *options, check=True):
    return engine("run", "--rm", *options, IMAGE, *shlex.split(line), check=check)


@pytest.fixture(scope="module")
def debian():
    """The options with which the image is built here: none where Debian's image can be fetched."""
    [image] = re.findall(r"^ARG DEBIAN=(.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    if engine("pull", image, check=False).returncode == 0:
        return []
    own = "localhost/debian:bookworm-slim"
    if engine("image", "inspect", own, check=False).returncode:
        archive = debootstrap()
        engine("import", str(archive), own)
        archive.unlink()
    return ["--build-arg", f"DEBIAN={own}"]


def debootstrap():
    """Makes what Debian's image for containers has, and returns an archive of it."""
    root, archive = WORK / "root", WORK / "debian.tar"
    shutil.rmtree(root, ignore_errors=True)
    include = "--include=ca-certificates"
    subprocess.run(["debootstrap", "--variant=minbase", include, "bookworm", root, MIRROR], check=True)
    policy = root / "usr" / "sbin" / "policy-rc.d"  # packages start no services
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    # A package mirror may have a certificate of an authority that this machine's administrator added.
    added = [*Path("/usr/local/share/ca-certificates").glob("*.crt")]
    for certificate in added:
        shutil.copy(certificate, root / "usr/local/share/ca-certificates")
    subprocess.run(["chroot", root, "update-ca-certificates"], check=True)
    if added:
        bundle = "/etc/ssl/certs/ca-certificates.crt"
        (root / "etc" / "pip.conf").write_text(f"[global]\ncert = {bundle}\n")
    for place in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(root / place)
        (root / place).mkdir()
    with tarfile.open(archive, "w") as packed:
        packed.add(root, ".")
    shutil.rmtree(root)
    return archive


@pytest.fixture(scope="module")
def image(debian):
    """The image's name; it is built of this checkout."""
    started = time.monotonic()
    engine("build", "--network=host", *debian, "--tag", IMAGE, ".")
    print(f"built in {time.monotonic() - started:.0f} s")
    return IMAGE


@pytest.fixture
def shared(tmp_path):
    """A folder of a user, and the options by which a container works in it."""
    tmp_path.chmod(0o755)
    os.chown(tmp_path, USER, USER)
    return tmp_path, ("--volume", f"{tmp_path}:/work")


def test_the_image_is_small(image, tmp_path):
    [unpacked] = map(int, engine("image", "inspect", "--format", "{{.Size}}", image).stdout.split())
    archive = tmp_path / "image.tar"
    engine("save", "--output", str(archive), image)
    subprocess.run(["gzip", archive], check=True)
    compressed = archive.with_name("image.tar.gz").stat().st_size
    shutil.rmtree(tmp_path)
    print(f"{unpacked / 1e6:.0f} MB unpacked, {compressed / 1e6:.0f} MB compressed")
    assert unpacked <= MOST_BYTES
    assert compressed <= MOST_COMPRESSED_BYTES


@pytest.mark.usefixtures("image")
def test_a_user_without_root_and_capabilities_gets_a_figure(shared):
    folder, options = shared
    options = ("--cap-drop=ALL", f"--user={USER}:{USER}", *options)
    done = in_container("paper polarfly fig2", *options)
    assert "polarfly" in done.stdout.lower()
    figures = [*folder.glob("results/papers/polarfly/fig2.*")]
    assert figures
    assert {path.stat().st_uid for path in figures} == {USER}
    in_container("saturation polarfly --q 2 --precision 0.5 --cycles 100 --warmup 0", *options)


@pytest.mark.usefixtures("image")
def test_the_images_own_user_is_not_root_and_cannot_launch_fabrics():
    assert engine("run", "--rm", "--entrypoint=id", IMAGE, "-un").stdout.split() == ["polarlab"]
    refused = in_container("up polarfly --q 2 --exec 'h1_1 true'", "--privileged", check=False)
    assert refused.returncode == Status.MACHINE


@pytest.mark.usefixtures("image")
def test_rights_that_a_fabric_lacks_are_named():
    capabilities = "--cap-add=SYS_ADMIN,NET_ADMIN,NET_RAW,SYS_PTRACE"
    for given, lacking in (
        ([], "no capability SYS_ADMIN"),
        ([capabilities], "/proc/sys is"),
        ([capabilities, "--security-opt=unmask=/proc/sys"], "cannot open /dev/net/tun"),
    ):
        refused = in_container("up polarfly --q 2 --exec 'h1_1 true'", "--user=root", *given, check=False)
        assert refused.returncode == Status.MACHINE
        [line] = refused.stderr.splitlines()
        assert lacking in line


def documented():
    """Returns the options that the page on installation gives containers with fabrics, and their commands."""
    lines = [words for line in page_lines(INSTALLATION) if "root" in (words := shlex.split(line))]
    return [
        (words[3 : words.index(IMAGE)], words[words.index(IMAGE) + 1 :])
        for words in lines
        if words[:3] == ["sudo", "podman", "run"]
    ]


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(("options", "words"), documented())
def test_fabrics_run_with_the_rights_that_the_page_names(options, words):
    done = engine("run", *options, IMAGE, *words)
    assert "delivered" in done.stderr


@pytest.mark.usefixtures("image")
def test_hosts_in_a_container_are_isolated_from_it():
    """With the fewest rights of the page."""
    [options] = [options for options, _ in documented() if "--privileged" not in options]
    programs = ("h1_1 hostname", "h1_1 cat /proc/1/comm", "h1_1 ping -c 1 h2_1")
    lines = [word for program in programs for word in ("--exec", program)]
    done = engine("run", *options, IMAGE, "up", "polarfly", "--q", "2", *lines)
    assert re.search(r"^h1-1$", done.stdout, re.MULTILINE)
    assert re.search(r"^sleep$", done.stdout, re.MULTILINE)
    assert " 0% packet loss" in done.stdout


@pytest.mark.usefixtures("image")
def test_the_demo_runs(shared):
    """The lines of `make demo`; on an idle machine its run is valid."""
    folder, options = shared
    given = ["make", "--dry-run", "demo", "POLARLAB=polarlab", "SUDO="]
    lines = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^polarlab (?:.*\\\n)*.*$", lines, re.MULTILINE)
    assert len(commands) == 4
    script = "set -e\n" + "\n".join(commands)
    engine("run", "--rm", "--privileged", "--user=root", *options, "--entrypoint=sh", IMAGE, "-c", script)
    summaries = [json.loads(path.read_text()) for path in folder.glob("results/polarfly-*/summary.json")]
    [fidelity] = [summary["fidelity"] for summary in summaries]
    print(f"valid: {fidelity['valid']}", *fidelity["reasons"])
    assert {path.stat().st_uid for path in folder.rglob("*")} == {USER}


def test_the_container_of_editors_is_set_up(debian):
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    target, name = settings["build"]["target"], "polarlab-editor"
    engine("build", "--network=host", *debian, "--target", target, "--tag", name, ".")
    folder = wheels.copy_project(WORK / "checkout")
    script = f"cd /workspaces/polarlab && {settings['postCreateCommand']} && .venv/bin/polarlab doctor"
    options = ["--rm", "--network=host", "--user", settings["containerUser"], *settings["runArgs"]]
    try:
        done = engine("run", *options, "--volume", f"{folder}:/workspaces/polarlab", name, "sh", "-c", script)
    finally:
        shutil.rmtree(folder)
    assert re.search(r"^fabrics +yes", done.stdout, re.MULTILINE)
