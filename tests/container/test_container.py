"""The container's image: its size, commands without root, and fabrics with few rights and with all."""

import json
import os
import re
import shlex
import shutil
import time

import pytest
from container.image import IMAGE, WORK, EngineError, build, engine, is_docker, program, run_demo, save
from support.builders.checkout import copy_project
from support.fixtures.documents import ROOT, page_lines

from topology.errors import Status

INSTALLATION = ROOT / "docs" / "how-to" / "install.md"
MOST_BYTES, MOST_COMPRESSED_BYTES = 950_000_000, 350_000_000
USER = 12_345  # owns a folder that the container sees, and is not in the image

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="fabrics in containers need root"),
    pytest.mark.timeout(3600),
]


@pytest.fixture(scope="module", autouse=True)
def _an_engine():
    try:
        program()
    except EngineError as error:
        pytest.skip(str(error))


def in_container(line, *options, check=True):
    return engine("run", "--rm", *options, IMAGE, *shlex.split(line), check=check)


@pytest.fixture(scope="module")
def image():
    """The image's name; it is built of this checkout."""
    started = time.monotonic()
    build()
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
    archive = tmp_path / "image.tar.gz"
    save(archive)
    compressed = archive.stat().st_size
    archive.unlink()
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
def test_ryu_runs_without_the_old_tools_that_built_it():
    listed = "import importlib.metadata; print(*(one.name for one in importlib.metadata.distributions()))"
    python = "--entrypoint=/opt/polarlab/.venv/bin/python"
    names = engine("run", "--rm", python, IMAGE, "-c", listed).stdout.split()
    assert "ryu" in names
    assert not {"setuptools", "wheel"} & set(names)
    fabric = "up polarfly --q 2 --framework ryu --exec 'h1_1 ping -c 1 h2_1'"
    assert " 0% packet loss" in in_container(fabric, "--privileged", "--user=root").stdout


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
        command = "up polarfly --q 2 --exec 'h1_1 true'"
        refused = in_container(command, "--user=root", *of_engine(given), check=False)
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


def of_engine(options):
    """Returns options of Podman as the engine spells them."""
    if not is_docker() or "--privileged" in options:
        return options
    text = shlex.join(options).replace("unmask=/proc/sys", "systempaths=unconfined")
    text = re.sub(
        r"--cap-add[ =](\S+)", lambda one: " ".join(f"--cap-add={name}" for name in one[1].split(",")), text
    )
    return [*shlex.split(text), "--security-opt=apparmor=unconfined"]


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(("options", "words"), documented())
def test_fabrics_run_with_the_rights_that_the_page_names(options, words):
    done = engine("run", *of_engine(options), IMAGE, *words)
    assert "delivered" in done.stderr


@pytest.mark.usefixtures("image")
def test_hosts_in_a_container_are_isolated_from_it():
    """With the fewest rights of the page."""
    [options] = [options for options, _ in documented() if "--privileged" not in options]
    programs = ("h1_1 hostname", "h1_1 cat /proc/1/comm", "h1_1 ping -c 1 h2_1")
    lines = [word for program in programs for word in ("--exec", program)]
    done = engine("run", *of_engine(options), IMAGE, "up", "polarfly", "--q", "2", *lines)
    assert re.search(r"^h1-1$", done.stdout, re.MULTILINE)
    assert re.search(r"^sleep$", done.stdout, re.MULTILINE)
    assert " 0% packet loss" in done.stdout


@pytest.mark.usefixtures("image")
def test_the_demo_runs(shared):
    """The lines of `make demo`; on an idle machine its run is valid."""
    folder, options = shared
    run_demo(*options)
    summaries = [json.loads(path.read_text()) for path in folder.glob("results/polarfly-*/summary.json")]
    [fidelity] = [summary["fidelity"] for summary in summaries]
    print(f"valid: {fidelity['valid']}", *fidelity["reasons"])
    assert {path.stat().st_uid for path in folder.rglob("*")} == {USER}


def test_the_container_of_editors_is_set_up():
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    target, name = settings["build"]["target"], "polarlab-editor"
    build("--target", target, tag=name)
    folder = copy_project(WORK / "checkout")
    script = f"cd /workspaces/polarlab && {settings['postCreateCommand']} && .venv/bin/polarlab doctor"
    options = ["--rm", "--network=host", "--user", settings["containerUser"], *settings["runArgs"]]
    try:
        done = engine("run", *options, "--volume", f"{folder}:/workspaces/polarlab", name, "sh", "-c", script)
    finally:
        shutil.rmtree(folder)
    assert re.search(r"^fabrics +yes", done.stdout, re.MULTILINE)
