"""Options of fabrics, traffic and sweeps: names, defaults and values as they reach a specification."""

import pytest

import polarlab
from experiments.fault_injector import write_schedule
from experiments.results.run_directory import RunDirectory
from experiments.spec.collective import CollectiveOptions
from experiments.spec.experiment import Experiment
from experiments.spec.traffic import TrafficOptions
from experiments.spec.variations import listed_values
from polarlab.cli.parser import make_parser, parse
from topology.errors import ParameterError
from topology.families.family import Family
from topology.families.low_diameter.polarfly import PolarFly
from topology.parameters import Parameter
from traffic.workload.collectives.registry import COLLECTIVES


def specified(options: str):
    """Returns the fabric and the traffic of `polarlab run` with some options."""
    chosen = parse(["run", *options.split()]).experiment.resolve()
    return chosen.fabric, chosen.traffic


def test_options_of_a_fabric():
    fabric, _ = specified("polarfly --q 3 --hosts 2 --link-rate 500kbit --queue 8 --datapath user")
    assert (fabric.name, fabric.params, fabric.topology.routers) == ("polarfly", {"q": 3}, 13)
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (2, "min", "user")
    assert (fabric.links.rate_bps, fabric.links.queue_packets) == (500_000, 8)


@pytest.mark.usefixtures("own_names")
def test_families_may_have_a_parameter_of_the_same_name_with_other_meanings(capsys):
    for name, kind, text in (("one", int, "degree in links"), ("two", str, "degree in words")):
        parameter = Parameter(name="degree", type=kind, help=text)
        polarlab.register(name, Family(lambda degree: PolarFly(2), (parameter,), "", "", "low-diameter"))
    for name, value in (("one", 3), ("two", "3")):
        assert parse(["run", name, "--degree", "3"]).experiment.params == {"degree": value}
    for words, texts in ((["one"], {"links"}), (["two"], {"words"}), ([], {"links", "words"})):
        with pytest.raises(SystemExit):
            make_parser().parse_args(["run", *words, "--help-all"])
        out = capsys.readouterr().out
        assert {text for text in ("links", "words") if f"degree in {text}" in out} == texts


def test_documented_defaults():
    fabric, traffic = specified("polarfly --q 3")
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (1, "min", "auto")
    assert (fabric.links.rate_bps, fabric.links.queue_packets) == (2_000_000, 32)
    assert (traffic.frame_bytes, traffic.flows, traffic.pattern) == (1000, 64, "uniform")
    assert (traffic.load, traffic.duration_s, traffic.warmup_s) == (0.3, 10.0, 40.0)


def test_options_of_traffic():
    _, traffic = specified(
        "polarfly --q 3 --pattern uniform --load 1 --frame-bytes 94 --flows 4096 --duration 0.1 --warmup 0 "
        "--seed 0"
    )
    assert traffic == TrafficOptions("uniform", 1.0, 94, 4096, 0.0, 0.1, 0)


def collective(options: str):
    """Returns the collective of `polarlab run` on ER_2 with some options."""
    return specified(f"polarfly --q 2 {options}")[1]


def test_documented_defaults_of_collectives():
    chosen = collective("--pattern allreduce")
    assert chosen.pattern == "allreduce:ring"
    assert (chosen.ranks, chosen.placement, chosen.slices) == (7, "linear", 2)
    assert (chosen.iterations, chosen.warmup_iterations, chosen.flows) == (5, 1, 64)
    assert chosen.message_bytes == (64 << 10, 256 << 10, 1 << 20)
    assert chosen.frame_bytes == 1514


def test_default_sizes_are_the_nearest_that_the_ranks_can_split():
    chosen = collective("--pattern all-to-all")
    assert chosen.slices == 1
    granule = COLLECTIVES["all-to-all"].granule(7)
    assert granule > 8
    for size, wanted in zip(chosen.message_bytes, (64 << 10, 256 << 10, 1 << 20), strict=True):
        assert size % granule == 0
        assert abs(size - wanted) <= granule / 2


def test_options_of_collectives():
    chosen = collective(
        "--pattern allreduce:rabenseifner --ranks 4 --message-bytes 4096,64KiB,4KiB --placement random:3 "
        "--iterations 2 --warmup-iterations 0 --slices 3 --frame-bytes 1000 --mtu 1200 --seed 9"
    )
    assert chosen == CollectiveOptions(
        "allreduce:rabenseifner", 4, "random:3", (4096, 65536), 2, 0, 3, 1000, 64, 9
    )


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("0.1,0.5", (0.1, 0.5)),
        ("0.5, 0.1,0.5", (0.1, 0.5)),
        ("0.1:0.9:0.2", (0.1, 0.3, 0.5, 0.7, 0.9)),
        ("0.1:1:0.4", (0.1, 0.5, 0.9)),
        ("0.5:0.5:0.1", (0.5,)),
        ("0.3333333333", (0.333333,)),
        ("1", (1.0,)),
    ],
)
def test_loads_of_a_sweep(text, loads):
    assert Experiment("sweep", {"topology": "polarfly", "q": 2, "loads": text}).resolve().sweep.loads == loads


@pytest.mark.parametrize(
    "text",
    ["", "a", "0.1:0.9", "0.9:0.1:0.1", "0.1:0.9:0", "0.1:0.9:1e-9", "0.1:1e12:0.1", "nan", "0", "1.1"],
)
def test_texts_that_are_not_loads(text):
    with pytest.raises(ParameterError):
        listed_values("load", text)


def test_faults_at_random_times_are_drawn_from_the_seed_and_both_are_named():
    words = "polarfly --q 3 --duration 20 --faults mtbf:links=2s,mttr=1s"
    _, traffic = specified(f"{words} --seed 5")
    settings = traffic.settings()
    assert settings.faults_asked == "mtbf:links=2s,mttr=1s"
    assert len(settings.faults) > 5
    assert settings.faults == tuple(fault.line for fault in traffic.faults)
    assert all(fault.time_s < 22 for fault in traffic.faults)
    assert traffic == specified(f"{words} --seed 5")[1]
    assert traffic.faults != specified(f"{words} --seed 6")[1].faults


def test_a_drawn_schedule_is_written_so_that_it_can_be_carried_out_again(tmp_path):
    words = "polarfly --q 3 --duration 20 --faults"
    _, drawn = specified(f"{words} mtbf:links=2s,mttr=1s,switches=10s,controller=10s")
    events = []
    write_schedule(RunDirectory(tmp_path / "run"), drawn, events.append)
    (event,) = events
    assert event.values["failures"] + event.values["repairs"] == len(drawn.faults)
    _, again = specified(f"{words} {tmp_path / 'run' / 'faults.txt'}")
    assert again.faults == drawn.faults
    assert again.settings().faults_asked is None


def test_a_run_without_faults_has_no_schedule(tmp_path):
    write_schedule(RunDirectory(tmp_path / "run"), specified("polarfly --q 3")[1], print)
    assert not list((tmp_path / "run").iterdir())
