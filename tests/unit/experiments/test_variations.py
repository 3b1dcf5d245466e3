"""What `--vary` asks for: keys, values, and the points that follow; what is wrong is named in one line."""

import pytest

from experiments.spec.experiment import Experiment
from experiments.spec.options import OPTIONS, SWEEP
from experiments.spec.sweep import Point, SweepOptions
from experiments.spec.variations import MAX_POINTS, known_keys, read_variations
from topology.errors import ParameterError, UsageError


def values(text):
    (variation,) = read_variations([text])
    return variation.values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("queue=32, 8,", (8, 32)),
        ("queue=8:64:28", (8, 36, 64)),
        ("duration=1,2.5", (1.0, 2.5)),
        ("link-delay=0.3:0.9:0.1", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        ("link-delay=0:0:1", (0.0,)),
        ("seed=100000000:100000002:1", (100000000, 100000001, 100000002)),
        ("link-rate=1Mbit,500kbit", ("1Mbit", "500kbit")),
        ("local-repair=true,false", (True, False)),
        ("arrivals=poisson,constant", ("poisson", "constant")),
        ("faults=a.txt,mtbf:links=30s,mttr=10s", ("a.txt", "mtbf:links=30s,mttr=10s")),
    ],
)
def test_values_are_lists_or_ranges(text, expected):
    assert values(text) == expected
    assert [type(value) for value in values(text)] == [type(value) for value in expected]


def sweep_of(vary, **options):
    return Experiment("sweep", {"topology": "polarfly", "q": 2, "vary": vary, **options})


def test_a_file_has_texts_as_the_command_line_or_values_by_key():
    texts = ["queue=8,32", "link-delay=0,5"]
    assert sweep_of({"queue": [8, 32], "link-delay": "0,5"}) == sweep_of(texts)
    assert sweep_of({"queue": 8}) == sweep_of("queue=8")
    for vary, match in (({"queue": [2.5]}, r"--vary queue: .* got '2\.5'"), ({"queue": []}, "KEY=VALUES")):
        with pytest.raises(UsageError, match=match):
            sweep_of(vary)


def test_an_experiment_with_varied_keys_reads_back_the_same(tmp_path):
    vary = {
        "ugal-pf.threshold": [0.3, 0.5],
        "faults": ["a.txt", "mtbf:links=30s,mttr=10s"],
        "load": "0.1:0.5:0.2",
    }
    path = tmp_path / "sweep.toml"
    for experiment in (sweep_of(vary), sweep_of(vary).complete):
        path.write_text(experiment.to_toml())
        assert Experiment.from_toml(path) == experiment
    assert not {"faults", "loads"} & sweep_of(vary).complete.values.keys()
    assert sweep_of(vary).complete.complete == sweep_of(vary).complete


def test_a_table_in_a_file_is_read_as_the_command_line_is(tmp_path):
    path = tmp_path / "sweep.toml"
    head = 'version = 1\nkind = "sweep"\n[topology]\nname = "polarfly"\nq = 2\n[sweep]\n'
    texts = ["ugal-pf.threshold=0.3,0.5", "queue=8"]
    for line in ('{ "ugal-pf.threshold" = [0.3, 0.5], queue = 8 }', str(texts)):
        path.write_text(f"{head}vary = {line}\n")
        assert Experiment.from_toml(path) == sweep_of(texts)
    path.write_text(f"{head}vary = {{ quue = 8 }}\n")
    with pytest.raises(UsageError, match=r"sweep\.toml: line 7, vary: .*'quue'; .*'queue'"):
        Experiment.from_toml(path)


def test_later_options_win_over_varied_ones_and_the_other_way_round():
    varied, fixed = sweep_of(["queue=8,32", "flows=1,2"]), sweep_of(["flows=1,2"], queue=8)
    assert varied.overridden({"queue": 8}) == fixed
    assert fixed.overridden({"vary": ["queue=8,32", "flows=1,2"]}) == varied


def test_routings_patterns_and_loads_have_keys_too():
    short = {"routings": "min,ugal", "patterns": "uniform", "loads": "0.1,0.2"}
    keys = ["routing=min,ugal", "pattern=uniform", "load=0.1,0.2"]
    long = sweep_of(["queue=8"], **short).resolve().sweep
    assert sweep_of(["queue=8", *keys]).resolve().sweep == long


@pytest.mark.parametrize(
    ("vary", "options", "match"),
    [
        (["queue=8,9"], {"queue": 7}, "queue must be given once, got --queue and --vary queue"),
        (["load=0.1"], {"loads": "0.5"}, "loads must be given once, got --loads and --vary load"),
        (["queue=8", "queue=9"], {}, "--vary queue must be given once"),
        (["load=0.1", "load=0.2"], {}, "--vary load must be given once"),
        (["load=0.1,0.10"], {}, "--vary load: values must be different, got 0.1 2 times"),
        (["routing=min,min"], {}, "--vary routing: values must be different, got min 2 times"),
        (["pattern=tornado,uniform,tornado"], {}, "--vary pattern: .* got tornado 2 times"),
    ],
)
def test_an_option_has_one_place(vary, options, match):
    with pytest.raises(UsageError, match=match):
        sweep_of(vary, **options)


def test_every_point_has_a_specification_of_its_own():
    vary = ["queue=8,32", "frame-bytes=200,400", "ugal-pf.threshold=0.5,0.6", "local-repair=true,false"]
    chosen = sweep_of(vary, loads="0.1", patterns="uniform").resolve()
    assert len(chosen.points) == 3 * 2 * 2 * 2
    for one in chosen.points:
        asked = dict(one.point.options)
        assert one.fabric.links.queue_packets == asked["queue"]
        assert one.fabric.local_repair == asked["local-repair"]
        assert one.traffic.frame_bytes == asked["frame-bytes"]
        assert (one.fabric.routing, one.traffic.load) == (one.point.routing, 0.1)
    assert len({id(one.fabric.topology) for one in chosen.points}) == 1


def test_a_point_that_makes_no_sense_is_refused_before_anything_starts():
    with pytest.raises(UsageError, match="94 to 1514 bytes, got 60"):
        sweep_of(["frame-bytes=60,1000"]).resolve()
    with pytest.raises(UsageError, match="200,000/s"):
        sweep_of(["link-rate=1Mbit,9Gbit"]).resolve()


def test_keys_are_options_and_parameters():
    swept = {option.name for option in OPTIONS if option.table == "traffic" and SWEEP in option.commands}
    assert swept - {"repeat"} <= set(known_keys())
    assert set(known_keys()) >= {"load", "queue", "ugal-pf.threshold", "hotspot.hosts"}
    assert not set(known_keys()) & {"hosts", "mtu", "datapath", "topology", "q", "repeat", "out"}


def test_each_value_goes_with_each_routing_pattern_and_load():
    vary = read_variations(["queue=8,32", "flows=1,2"])
    sweep = SweepOptions(("min", "ugal"), ("uniform", "tornado"), (0.2, 0.4), vary=vary)
    points = sweep.points()
    assert len(points) == len(set(points)) == 2 * 2 * 2 * 4
    assert points[0] == Point("min", "uniform", 0.2, (("flows", 1), ("queue", 8)))
    assert points[-1] == Point("ugal", "tornado", 0.4, (("flows", 2), ("queue", 32)))
    assert len({point.name for point in points}) == len(points)
    assert points[-1].name == "ugal-tornado-0.4-flows=2-queue=32"


def test_parameters_vary_only_for_their_routing_and_pattern():
    vary = read_variations(["ugal-pf.threshold=0.3:0.5:0.1", "hotspot.hosts=1,2"])
    sweep = SweepOptions(("min", "ugal-pf:margin=0.5"), ("uniform", "hotspot"), (0.2,), vary=vary)
    thresholds = [f"ugal-pf:threshold={value},margin=0.5" for value in (0.3, 0.4, 0.5)]
    assert sweep.varied_routings == ("min", *thresholds)
    assert sweep.varied_patterns == ("uniform", "hotspot", "hotspot:hosts=2")  # 1 is the default
    assert len(sweep.points()) == 4 * 3
    assert all(point.options == () for point in sweep.points())


def test_a_value_that_is_the_default_is_the_routing_itself():
    vary = read_variations(["ugal-pf.threshold=2/3,0.5"])
    assert SweepOptions(("ugal-pf",), ("uniform",), (0.2,), vary=vary).varied_routings == (
        "ugal-pf:threshold=0.5",
        "ugal-pf",
    )


@pytest.mark.parametrize(
    ("routings", "patterns", "text", "match"),
    [
        ("min", "uniform", "ugal-pf.threshold=0.3", "needs ugal-pf among .*, got min, uniform"),
        ("min", "uniform", "hotspot.hosts=2", "needs hotspot among .*, got min, uniform"),
        ("ugal-pf:threshold=0.3", "uniform", "ugal-pf.threshold=0.5", "ugal-pf.threshold must be given once"),
        ("min", "hotspot:hosts=2", "hotspot.hosts=3", "hotspot.hosts must be given once"),
    ],
)
def test_a_parameter_needs_its_routing_or_pattern_and_one_place(routings, patterns, text, match):
    with pytest.raises(UsageError, match=match):
        SweepOptions((routings,), (patterns,), (0.2,), vary=read_variations([text]))


def test_the_order_of_keys_does_not_matter_to_a_point():
    both = [
        SweepOptions(("min",), ("uniform",), (0.2,), vary=read_variations(texts)).points()
        for texts in (["queue=8", "flows=1"], ["flows=1", "queue=8"])
    ]
    assert both[0] == both[1]


def test_points_are_sorted_by_numbers_not_by_letters():
    points = [Point("min", "uniform", 0.2, (("queue", queue),)) for queue in (100, 9, 20)]
    ordered = sorted(points, key=lambda point: point.order)
    assert [dict(point.options)["queue"] for point in ordered] == [9, 20, 100]


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (["quue=3"], "'quue'; did you mean 'queue'"),
        (["queue"], "KEY=VALUES.*'queue'"),
        (["=3"], "KEY=VALUES.*'=3'"),
        (["queue="], "KEY=VALUES.*'queue='"),
        (["queue=,"], "--vary queue: .*must not be empty"),
        (["queue=8", "queue=9"], "--vary queue .*once"),
        (["queue=8,32,8"], "--vary queue: values must be different, got 8 2 times"),
        (["link-delay=1,1.0"], "--vary link-delay: values must be different, got 1.0 2 times"),
        (["queue=0"], "--vary queue: .*1 to 100000.* 0$"),
        (["queue=8:64:0"], "STEP over 0, got '8:64:0'"),
        (["queue=64:8:1"], "FIRST at most LAST.*'64:8:1'"),
        (["queue=1:2"], "FIRST:LAST:STEP, got '1:2'"),
        (["queue=1:90000:1"], f"at most {MAX_POINTS}"),
        (["link-delay=0:inf:1"], "'0:inf:1'"),
        (["link-delay=nan"], "got nan"),
        (["link-rate=auto"], "'auto'"),
        (["arrivals=poison"], "'poison'.*did you mean 'poisson'"),
        (["hosts=1,2"], r"hosts needs a new fabric .*in 1 2; do .*--hosts \$value"),
        (["q=3,5"], r"q needs a new fabric .*in 3 5; do .*--q \$value"),
        (["topology=polarfly,slimfly"], r"polarlab sweep \$value"),
        (["mtu=900"], "mtu needs a new fabric"),
        (["datapath=user"], "datapath needs a new fabric"),
        (["ugal.pf.threshold=0.3"], "'ugal.pf.threshold'; did you mean 'ugal-pf.threshold'"),
        (["ugal-pf.threshuld=0.3"], "ugal-pf has the parameters .*did you mean 'threshold'"),
        (
            ["ugal-pf.threshold=0.3,2"],
            "--vary ugal-pf.threshold: threshold must be over 0 and at most 1, got 2",
        ),
        (["min.threshold=0.3"], "min has no parameters, got 'min.threshold'"),
    ],
)
def test_what_cannot_vary_is_named_in_one_line(texts, match):
    with pytest.raises(UsageError, match=match) as raised:
        read_variations(texts)
    assert "\n" not in str(raised.value)


def test_too_many_points_are_refused():
    with pytest.raises(ParameterError, match=f"at most {MAX_POINTS} points, got 20000"):
        SweepOptions(("min", "ugal"), ("uniform",), (0.2,), vary=read_variations(["seed=1:10000:1"]))
