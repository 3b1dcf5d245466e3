"""Wrong use: status 2 and one line that names the option, the value, and the remedy where there is one."""

import shlex

import pytest
from support.fixtures.command_line import fails, unnamed
from support.fixtures.documents import ROOT

from experiments.events.marks import ResultsWritten
from experiments.spec.variations import own_fabric_message
from topology.errors import Status
from topology.registry import FAMILIES

FAMILY_NAMES = " ".join(sorted(FAMILIES))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("", "COMMAND"),
        ("fly", "'fly' topology run"),
        ("topolgy polarfly --q 3", "'topolgy' 'topology'"),
        ("run polarfly --q 3 --warmpu 2", "--warmpu '--warmup'"),
        ("run polarfly --q 3 --warmpu=2", "--warmpu=2 '--warmup'"),
        ("topology", "polarlab topology --list"),
        ("topology torus-of-clay --q 3", f"'torus-of-clay' {FAMILY_NAMES}"),
        ("topology polarfly", "polarfly --q 7"),
        ("topology polarfly --q 6", "6 5 7"),
        ("topology polarfly --q 1", "1 2"),
        ("topology polarfly --q 0", "0 2"),
        ("topology polarfly --q -3", "-3 2"),
        ("topology polarfly --q 129", "129 128"),
        ("topology polarfly --q x", "q 'x' 2 128"),
        ("topology polarfly --q 7.5", "q '7.5' 2 128"),
        ("topology polarfly --q 1_1", "q '1_1' 2 128"),
        ("topology polarfly --q 3 --hosts 0", "1 254 0"),
        ("topology polarfly --q 3 --nonsense", "--nonsense"),
        ("topology polarfly --q 3 --supernode iq", "polarfly --q --expand --supernode"),
        ("topology --supernode=iq polarfly --q 3", "polarfly --q --expand --supernode"),
        ("topology polarfly --q 3 --export dot g", "adjlist booksim graphml json sst"),
        ("topology polarfly --q 3 --export json", "--export"),
        ("families", "--radix --endpoints"),
        ("families --radix 2", "radix 3 2"),
        ("families --radix x", "radix 3 'x'"),
        ("families --endpoints 1", "endpoints 2 1"),
        ("families --radix 8 --group tree", "'tree' low-diameter dragonflies"),
        ("families polarfly", "polarfly"),
        ("families --radix 8 --prices none.toml", "--prices --costs"),
        ("families --radix 8 --costs --prices none.toml", "none.toml"),
        ("verify polarfly --q 6", "6 5 7"),
        ("verify polarfly --q 3 --hosts 0", "1 254 0"),
        ("verify polarfly --q 3 --hosts 255", "1 254 255"),
        ("verify polarfly --q 3 --routing best", "'best' compact-valiant min ugal-pf"),
        ("verify polarfly --q 3 --failures all", "'all' none links switches"),
        ("up polarfly --q 3 --hosts 0", "1 254 0"),
        ("up polarfly --q 3 --routing best", "'best' min"),
        ("up polarfly --q 3 --link-rate 0", "'0' 2Mbit 500kbit"),
        ("up polarfly --q 3 --link-rate 0Mbit", "10 kbit/s Gbit/s 0"),
        ("up polarfly --q 3 --link-rate 1e6Gbit", "'1e6Gbit' 2Mbit"),
        ("up polarfly --q 3 --link-rate 1000000Gbit", "10 kbit/s Gbit/s"),
        ("up polarfly --q 3 --queue 0", "1 100000 0"),
        ("up polarfly --q 3 --datapath fast", "'fast' auto kernel user"),
        ("up polarfly --q 3 --occupancy guess", "'guess' netlink port-statistics"),
        ("up polarfly --q 3 --link-delay -1", "0 10000 -1"),
        ("up polarfly --q 3 --link-delay 5m", "link-delay 5min 5ms '5m'"),
        ("run polarfly --q 3 --link-loss 1", "0 0.5 1"),
        ("run polarfly --q 6", "6 5 7"),
        ("run polarfly --q 3 --pattern all", "'all' adversarial bit-complement"),
        ("run polarfly --q 3 --load 0", "0 1"),
        ("run polarfly --q 3 --load 1.5", "0 1 1.5"),
        ("run polarfly --q 3 --load 1_0/20", "0 1 '1_0/20'"),
        ("run polarfly --q 3 --load -1", "0 1 -1"),
        ("run polarfly --q 3 --load nan", "0 1 nan"),
        ("run polarfly --q 3 --load much", "load over 0 1 'much'"),
        ("run polarfly --q 3 --link-rate 0", "'0' 2Mbit"),
        ("run polarfly --q 3 --link-rate 1e6Gbit", "'1e6Gbit'"),
        ("run polarfly --q 3 --frame-bytes 93", "94 1514 93"),
        ("run polarfly --q 3 --frame-bytes 1515", "94 1514 1515"),
        ("run polarfly --q 3 --flows 0", "flows 1 4096 0"),
        ("run polarfly --q 3 --flows 4097", "flows 1 4096 4097"),
        ("run polarfly --q 3 --duration 0", "duration 0.1 86400 0"),
        ("run polarfly --q 3 --duration nan", "duration 0.1 86400 nan"),
        ("run polarfly --q 3 --duration inf", "duration 0.1 86400 inf"),
        ("run polarfly --q 3 --warmup -1", "warmup 0 3600 -1"),
        ("run polarfly --q 3 --warmup soon", "warmup steady 'soon'"),
        ("run polarfly --q 3 --arrivals late", "'late' poisson"),
        ("run polarfly --q 3 --seed -1", "seed 0 -1"),
        ("run polarfly --q 3 --ranks 4", "--ranks allreduce"),
        ("run polarfly --q 3 --pattern allreduce --load 1", "--load"),
        ("run polarfly --q 3 --pattern allreduce --repeat 2", "--iterations --repeat"),
        ("run polarfly --q 3 --pattern allreduce --message-bytes much", "message-bytes 64KiB 'much'"),
        ("run polarfly --q 3 --pattern allreduce --iterations 0", "iterations 1 100000 0"),
        ("sweep polarfly --q 3 --routings ,", "routings"),
        ("sweep polarfly --q 3 --loads 0.1,,0.2", "loads '0.1,,0.2'"),
        (
            "sweep polarfly --q 3 --engine simulation --vary queue=8,16",
            "queue --flow-control drop",
        ),
        ("simulate polarfly --q 3 --queue 8", "--queue --flow-control drop"),
        ("run polarfly --q 3 --faults mtbf:links=5,mttr=1s", "links --faults mtbf 1ms '5'"),
        (f"run {ROOT}/examples/simulation.toml", "run simulation simulate"),
        (f"predict {ROOT}/examples/failover.toml", "predict pattern load failover"),
        (f"saturation {ROOT}/examples/er5-uniform.toml", "saturation simulation run"),
        ("sweep polarfly --q 3 --patterns ,uniform", "patterns ',uniform'"),
        ("sweep polarfly --q 3 --vary queue=8,,16", "queue '8,,16'"),
        ("run polarfly --q 3 --pattern allreduce --message-bytes 4KiB,,8KiB", "message-bytes '4KiB,,8KiB'"),
        ("sweep polarfly --q 3 --loads 0.5:0.1", "loads FIRST:LAST:STEP '0.5:0.1'"),
        ("sweep polarfly --q 3 --vary quue=8", "--vary 'quue' queue"),
        ("sweep polarfly --q 3 --vary queue", "--vary KEY=VALUES 'queue'"),
        ("sweep polarfly --q 3 --vary queue=0", "--vary queue 1 100000 0"),
        ("sweep polarfly --q 3 --vary queue=8:64:0", "FIRST:LAST:STEP '8:64:0'"),
        ("sweep polarfly --q 3 --vary queue=8 --queue 9", "--queue --vary queue"),
        ("sweep polarfly --q 3 --vary q=3,5", "q 3 5 --q --out"),
        ("sweep polarfly --q 3 --vary ugal-pf.threshuld=1", "ugal-pf threshold release margin"),
        ("sweep polarfly --q 3 --vary ugal.sampled=1 --routings min", "ugal.sampled min"),
        ("sweep polarfly --q 3 --vary seed=1:9999:1", "10000"),
        ("plot", "RESULTS"),
        ("plot nowhere", "nowhere"),
        ("clean --all", "--all polarlab clean --help"),
        ("explain polarfly --q 7 --hosts 3 s1 s2", "--hosts polarlab explain --help"),
        ("patterns all", "all"),
        ("rules polarfly --q 3 --without controller s1", "--without"),
        ("rules polarfly --q 3 --without switch:s1 s1", "s1"),
        ("up polarfly --q 3 --link-rate auto", "--link-rate auto"),
        ("demo failover --link-rate auto", "--link-rate auto"),
        ("demo failover --fail controller", "--fail --kill-controller"),
    ],
)
def test_one_line_names_the_option_the_value_and_the_remedy(capsys, arguments, named):
    line = fails(capsys, arguments, Status.USAGE)
    assert not unnamed(line, named), line


def test_a_kind_is_named_by_its_noun(capsys):
    line = fails(capsys, f"run {ROOT}/examples/simulation.toml", Status.USAGE)
    assert "a simulation;" in line
    assert "polarlab simulate" in line


@pytest.mark.parametrize("command", ["run", "sweep", "simulate", "demo failover"])
def test_a_folder_of_results_instead_of_a_topology_is_told_how_to_be_repeated(command, tmp_path, capsys):
    (tmp_path / "manifest.json").write_text("{}")
    line = fails(capsys, f"{command} {tmp_path}", Status.USAGE)
    assert not unnamed(line, f"topology {tmp_path} --again"), line


@pytest.mark.parametrize("name", ["my runs", "a;b", "plain"])
def test_a_printed_command_can_be_pasted_whatever_its_folder_is_called(name, tmp_path, capsys):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    line = fails(capsys, ["run", str(folder)], Status.USAGE)
    assert str(folder) in shlex.split(line)
    written = str(ResultsWritten(folder, interrupted=True))
    assert shlex.split(written.split("`")[1]) == ["polarlab", "plot", str(folder)]
    loop = own_fabric_message("from", [str(folder)]).partition(" in ")[2].partition("; do")[0]
    assert shlex.split(loop) == [str(folder)]


@pytest.mark.parametrize(
    ("arguments", "commands"),
    [
        ("simulate polarfly --q 3 --link-rate 1Mbit", "run sweep"),
        ("verify polarfly --q 3 --load 0.3", "run simulate"),
        ("run polarfly --q 3 --cycles=500", "sweep simulate"),
        ("verify polarfly --q 3 --no-title", "plot report compare"),
        ("demo failover --kill-controllr", "--kill-controller"),
        ("run polarfly --q 3 --collective ring", ""),
    ],
)
def test_an_option_of_other_commands_is_no_typo(capsys, arguments, commands):
    line = fails(capsys, arguments, Status.USAGE)
    assert not unnamed(line, commands), line
    assert ("did you mean" in line) == commands.startswith("--")


@pytest.mark.parametrize("arguments", ["up polarfly --q 3", "run polarfly --q 3", "clean"])
def test_a_machine_that_lacks_something_is_named_in_one_line(capsys, arguments):
    assert fails(capsys, arguments, Status.MACHINE) == "polarlab: this test has no machine\n"


@pytest.mark.parametrize("routing", ["min", "ugal"])
def test_more_routers_than_tags_are_refused_at_once(capsys, routing):
    line = fails(capsys, f"verify polarfly --q 64 --routing {routing}", Status.USAGE)
    assert not unnamed(line, "4161 4094")


@pytest.mark.parametrize("command", ["predict", "run"])
def test_every_command_checks_its_seed(capsys, command):
    words = f"{command} polarfly --q 3 --pattern random-permutation --seed -1"
    assert not unnamed(fails(capsys, words, Status.USAGE), "seed -1")
