"""Options of simulations: defaults, decisions by the routing, and what contradicts itself."""

from dataclasses import fields

import pytest
from support.fixtures.command_line import fails, unnamed
from support.fixtures.documents import ROOT

from experiments.spec.experiment import Experiment
from experiments.spec.options import options_of
from experiments.spec.simulation.decisions import DECISIONS, decision_name
from experiments.spec.simulation.model import RouterRecord, router_record
from routing.registry import ROUTINGS
from simulation.settings import Decision, RouterSettings, Times
from topology.errors import ParameterError, Status, UsageError

DRAGONFLY = {"topology": "dragonfly", "a": 4, "h": 2}
DRAGONFLY3 = {"topology": "dragonfly3", "a": 2, "h2": 1, "h3": 1}
HAMMING = {"topology": "dragonfly", "local": "2x2", "h": 2}
LEVEL = {"routing": "hierarchical", "channel_policy": "level", "virtual_channels": 6}


def specified(**options):
    """Returns the fabric and the traffic of a simulation, by default on ER_3."""
    family = {} if "topology" in options else {"topology": "polarfly", "q": 3}
    chosen = Experiment("simulate", {**family, **options}).resolve()
    return chosen.fabric, chosen.traffic


def test_documented_defaults_are_those_of_the_simulator():
    fabric, traffic = specified()
    assert fabric.routers == RouterSettings()
    assert traffic.times == Times(period=100)
    assert (traffic.load, traffic.arrivals, traffic.seed) == (0.3, "bernoulli", 1)


def test_options_reach_the_simulator():
    fabric, traffic = specified(
        packet_flits=8, virtual_channels=6, buffer_flits=64, speedup=1, channel_policy="any", warmup=500,
        arbitration="random", router_cycles=3, link_cycles=4, host_link_cycles=5, credit_cycles=6, load=1,
        global_link_cycles=7, cycles=9,
    )  # fmt: skip
    assert fabric.routers == RouterSettings(
        packet_flits=8, channels=6, buffer_flits=64, speedup=1, channel_policy="any", arbitration="random",
        router_cycles=3, link_cycles=4, global_link_cycles=7, host_link_cycles=5, credit_cycles=6,
    )  # fmt: skip
    assert traffic.times == Times(warmup=500, window=9, period=1)
    dropping, _ = specified(flow_control="drop", queue=7, burst=1)
    assert dropping.routers == RouterSettings(flow_control="drop", queue_packets=7, burst_packets=1)


@pytest.mark.parametrize(
    ("options", "decision"),
    [
        ({"routing": "min"}, Decision()),
        ({"routing": "ugal-pf"}, Decision(law="threshold")),
        ({"routing": "ugal-pf:threshold=0.5,margin=0.2"}, Decision(law="threshold", threshold=0.5)),
        (
            {"routing": "ugal-pf:neighbour=random,buffer=port,triangle=false"},
            Decision(law="threshold", neighbour="random", buffer="port"),
        ),
        ({"routing": "ugal"}, Decision(law="product")),
        ({"routing": "ugal:lengths=own"}, Decision(law="product")),
        ({"routing": "ugal:threshold=2"}, Decision(law="product")),
        (
            {"routing": "ugal", "decision": "product:2,whole-path=true"},
            Decision(law="product", candidates=2, whole_path=True),
        ),
        (
            {"routing": "ugal-pf:margin=0.2", "decision": "threshold:1/4"},
            Decision(law="threshold", threshold=0.25),
        ),
        (
            {"routing": "ugal-pf:buffer=port", "decision": "threshold:0.5,buffer=port"},
            Decision(law="threshold", threshold=0.5, buffer="port"),
        ),
        (
            {"routing": "ugal:threshold=0.3", "decision": "threshold:0.5"},  # of the control law of switches
            Decision(law="threshold", threshold=0.5),
        ),
        ({"routing": "four-color-adaptive"}, Decision(law="piggyback", candidates=4, margin=0.125)),
        (
            {"routing": "ugal", "decision": "piggyback:margin=1/4,candidates=2"},
            Decision(law="piggyback", candidates=2, margin=0.25),
        ),
        ({"routing": "ugal-pf", "decision": "minimal"}, Decision(law="minimal")),
        ({"routing": "ugal-pf", "decision": "buckets"}, Decision(law="buckets", period=100, flows=64)),
        ({"routing": "ugal", "decision": "buckets:50,flows=8"}, Decision(law="buckets", period=50, flows=8)),
    ],
)  # fmt: skip
def test_a_decision_is_the_routings_own_unless_it_is_given(options, decision):
    fabric, _ = specified(**options)
    assert fabric.packet_decision() == decision
    assert router_record(fabric).decision == fabric.decision_text


def test_every_adaptive_routing_has_a_decision_for_every_packet():
    for name, one in ROUTINGS.items():
        assert (one.packet_law is None) == one.oblivious, name
        if one.packet_law:
            assert one.packet_law.rule.value in DECISIONS
            assert set(one.packet_law.shared) <= {parameter.key for parameter in one.law_parameters}


def test_a_decision_has_one_name():
    assert decision_name("threshold:threshold=2/3") == decision_name("threshold") == "threshold"
    assert decision_name("product:4,whole-path=false") == "product"


def test_options_that_do_not_apply_are_left_out_of_files_and_of_what_is_changed():
    lossless = Experiment("simulate", {"topology": "polarfly", "q": 3, "virtual_channels": 6})
    assert "queue" not in lossless.complete.values
    dropping = lossless.overridden({"flow-control": "drop"})
    assert "virtual-channels" not in dropping.values
    assert "speedup" not in dropping.complete.to_toml()
    assert dropping.complete.values["queue"] == 32


def test_every_setting_of_routers_has_an_option_and_a_name_in_results():
    names = {entry.name for entry in fields(RouterSettings)} - {"channels"} | {"virtual_channels"}
    assert names == {entry.name for entry in fields(RouterRecord)} - {"decision"}
    table = [one for one in options_of("simulate") if one.table == "simulation"]
    assert {one.setting.removeprefix("routers.") for one in table} == names | {"decision"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"routing": "ugal-pf:threshold=0.5", "decision": "threshold:1/4"},
            "threshold is 0.5 in --routing ugal-pf:threshold=0.5 but 0.25 in --decision threshold:"
            "threshold=0.25; give it in --decision only",
        ),
        (
            {"routing": "ugal-pf:threshold=0.5", "decision": "threshold"},
            "threshold is 0.5 in --routing .* but 2/3 in --decision threshold; give it in --decision only",
        ),
        (
            {"routing": "ugal-pf:neighbour=random", "decision": "threshold:0.5"},
            "neighbour is random in --routing .* but least-occupied in --decision",
        ),
        (
            {"routing": "ugal-pf:neighbour=random", "decision": "threshold:buffer=port"},
            "neighbour is random in --routing .* but least-occupied in --decision",
        ),
        (
            {"channel_policy": "class", "virtual_channels": 1},
            "virtual-channels must be 2 or more for .*, got 1",
        ),
        ({**LEVEL, **DRAGONFLY3}, "policy level needs .* got dragonfly3 with --routing hierarchical"),
        ({**LEVEL, **HAMMING}, "policy level needs .* got dragonfly with Hamming groups"),
        ({**LEVEL, **DRAGONFLY, "routing": "min"}, "policy level needs .* with --routing min"),
        ({**LEVEL, **DRAGONFLY, "routing": "valiant"}, "policy level needs .* with --routing valiant"),
        ({**LEVEL, "routing": "min"}, "policy level needs .* got polarfly with --routing min"),
        ({"ranks": 4}, "ranks is for collectives; give --pattern allreduce, all-to-all or a motif"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, told):
    with pytest.raises((UsageError, ParameterError), match=told):
        specified(**options)


def test_a_threshold_that_two_names_agree_on_is_one():
    fabric, _ = specified(routing="ugal-pf:threshold=0.5", decision="threshold:1/2")
    assert fabric.packet_decision() == Decision(law="threshold", threshold=0.5)


@pytest.mark.parametrize(
    "routing",
    ["hierarchical", "hierarchical:gateways=any", "valiant:over=hierarchical", "ugal:over=hierarchical"],
)
def test_levels_are_for_hierarchical_paths(routing):
    fabric, _ = specified(**{**LEVEL, **DRAGONFLY, "routing": routing})
    assert fabric.routers.channel_policy == "level"


def test_faults_have_times_in_cycles_and_end_before_the_window(tmp_path):
    path = tmp_path / "faults.txt"
    path.write_text("3999 fail link:s1-s10\n")
    _, traffic = specified(faults=path)
    assert [fault.line for fault in traffic.faults] == ["3999 fail link:s1-s10"]
    assert (traffic.times, traffic.replan_cycles) == (Times(warmup=1000, period=100), 1000)
    path.write_text("4000 fail link:s1-s10\n")
    with pytest.raises(UsageError, match="4000 cycles"):
        specified(faults=path)
    path.write_text("500 drain s4\n")
    assert specified(faults=path, replan_cycles=0)[1].replan_cycles == 0
    with pytest.raises(UsageError, match=r"replan-cycles.*drain switch:s4"):
        specified(faults=path, replan_cycles="none")


def test_drawn_faults_have_whole_cycles():
    _, traffic = specified(faults="mtbf:links=100,mttr=50")
    assert len(traffic.faults) > 40
    assert all(float(fault.time_s).is_integer() and fault.time_s < 4000 for fault in traffic.faults)
    assert traffic.faults_asked == "mtbf:links=100,mttr=50"
    assert "replan-cycles" not in Experiment("simulate", {"topology": "polarfly", "q": 3}).complete.values


def test_new_adaptive_plans_of_large_fabrics_are_refused_before_they_fill_the_memory():
    options = {"q": 25, "routing": "ugal-pf", "faults": "mtbf:links=1000,mttr=50"}
    with pytest.raises(UsageError, match="replan-cycles"):
        specified(**options)
    assert specified(**options, replan_cycles="none")[1].replan_cycles == "none"


def test_results_name_the_settings_of_one_flow_control_alone():
    lossless, _ = specified()
    dropping, _ = specified(flow_control="drop")
    assert (router_record(lossless).virtual_channels, router_record(lossless).queue_packets) == (4, None)
    assert (router_record(dropping).virtual_channels, router_record(dropping).queue_packets) == (None, 32)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--buffer-flits 3", "buffer-flits 4 3"),
        ("--packet-flits 65", "packet-flits 1 64 65"),
        ("--packet-flits 8 --buffer-flits 7", "buffer-flits 8 7"),
        ("--load 0", "load 0 1"),
        ("--load 1.2", "load 1.2"),
        ("--cycles 0", "cycles 1 0"),
        ("--warmup soon", "warmup steady 'soon'"),
        ("--routing ugal --decision buckets:0", "period 1 1000000 0"),
        ("--decision buckets", "--decision min"),
        ("--replan-cycles 5", "--replan-cycles --faults"),
        ("--faults mtbf:links=100,mttr=5 --replan-cycles -1", "replan-cycles none -1"),
        ("--faults mtbf:links=100,mttr=5 --warmup steady", "--faults --warmup cycles"),
        ("--faults mtbf:links=100ms,mttr=5", "links cycles '100ms'"),
        ("--virtual-channels 17", "virtual-channels 1 16 17"),
        ("--speedup 0", "speedup 1 4 0"),
        ("--flow-control wish", "flow-control credit drop 'wish'"),
        ("--flow-control drop --buffer-flits 64", "--buffer-flits --flow-control credit"),
        ("--queue 8", "--queue --flow-control drop"),
        ("--channel-policy best", "hop class any random 'best'"),
        ("--decision threshold:0.5", "--decision min"),
        ("--routing ugal --decision thershold", "decision minimal threshold product 'thershold' 'threshold'"),
        ("--routing ugal --decision product:0", "candidates 1 16 0"),
        ("--routing ugal --decision threshold:candidates=2", "threshold 'candidates=2'"),
        ("--pattern perm", "'perm' uniform"),
        ("--link-rate 2Mbit", "--link-rate"),
        ("--global-link-cycles 0", "global-link-cycles 1 10000 0"),
        ("--arrivals late", "'late' bernoulli"),
        ("--precision 0.1", "--precision"),
    ],
)  # fmt: skip
def test_one_line_names_option_value_and_remedy(capsys, tmp_path, monkeypatch, words, named):
    monkeypatch.chdir(tmp_path)
    line = fails(capsys, f"simulate polarfly --q 3 {words}", Status.USAGE)
    assert not unnamed(line, named), line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        "simulate graph --from TORUS --global-link-cycles 5",
        "saturation graph --from TORUS --global-link-cycles 5 --flow-control drop",
        "sweep graph --from TORUS --engine simulation --global-link-cycles 5 --routings min",
        "sweep graph --from TORUS --engine simulation --vary global-link-cycles=1,5 --routings min",
    ],
)
def test_global_links_need_clusters(capsys, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    words = words.replace("TORUS", str(ROOT / "examples" / "torus-3x3.edges"))
    line = fails(capsys, words, Status.USAGE)
    assert not unnamed(line, "--global-link-cycles clusters graph"), line
    assert not list(tmp_path.iterdir())


def test_results_name_the_delay_of_global_links_if_they_have_one():
    assert router_record(specified()[0]).global_link_cycles is None
    for flow_control in ("credit", "drop"):
        fabric, _ = specified(global_link_cycles=9, flow_control=flow_control)
        assert router_record(fabric).global_link_cycles == 9


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("saturation polarfly --q 3 --load 0.5", "--load"),
        ("saturation polarfly --q 3 --precision 0.6", "precision 0.001 0.5 0.6"),
        ("saturation polarfly --q 3 --out here", "--out"),
        ("run examples/simulation.toml", "simulate `polarlab"),
        ("saturation examples/first.toml", "simulate run"),
        ("simulate examples/first.toml", "run polarlab"),
    ],
)
def test_wrong_use_of_other_commands(capsys, words, named):
    line = fails(capsys, words, Status.USAGE)
    assert not unnamed(line, named), line


def test_a_saturation_takes_the_options_of_a_simulation_but_its_load():
    values = {"topology": "polarfly", "q": 3, "load": 0.2, "queue": 9, "flow_control": "drop"}
    simulation = Experiment("simulate", values)
    chosen = simulation.overridden({}, "saturation").resolve()
    assert chosen.fabric.routers.queue_packets == 9
    assert chosen.traffic.load == 1


def test_errors_in_a_file_name_its_line(tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(
        'version = 1\nkind = "simulate"\n[topology]\nname = "polarfly"\nq = 2\n'
        "[simulation]\nbuffer-flits = 2\n"
    )
    with pytest.raises(UsageError, match=r"one.toml: line 7, buffer-flits: .* 4 flits"):
        Experiment.from_toml(path).resolve()
