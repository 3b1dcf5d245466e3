"""Control laws: the buckets that they move, their equilibria, and the gain of a fabric under load."""

import itertools
from collections import Counter

import pytest
from support.builders.repeats import repeats
from support.oracles.queue_model import PacketModel

from routing.algorithms.bucket_control import SwitchAdapter
from routing.plan.groups import GroupRole, group_number
from routing.registry import make_plan, routing
from topology.families.low_diameter.polarfly import PolarFly

ROUTER = 20
PLAN = make_plan(PolarFly(5), 1, "ugal-pf")
SWITCH = PLAN.switches[ROUTER]
PORTS = range(1, 7)
BUCKETS, HIGH, LOW = 64, 2 / 3, 1 / 5
MOVED = int(BUCKETS / 3)
REST_DETOURED, REST_RETURNED, SHARE_RETURNED = 4, 20, 1 / 32


def make_adapter(text="ugal-pf"):
    chosen = routing(text)
    return SwitchAdapter(SWITCH, chosen.make_law(ROUTER + 1), chosen.control())


def shares(groups, port):
    """Returns port -> number of buckets of another port's far group that send by it."""
    (group,) = [g for g in groups if g.number == group_number(GroupRole.CHOICE_FAR, port)]
    return Counter(group.ports[group.candidates.index(bucket)][0] for bucket in group.buckets)


def after(adapter, occupancies, steps):
    """Returns the changes of a number of steps under the same occupancies."""
    return [changed for _ in range(steps) if (changed := adapter.update(occupancies))]


def test_nothing_changes_while_nothing_is_congested():
    adapter = make_adapter()
    for occupancy in (0.0, LOW, 0.5, HIGH):
        assert adapter.update(dict.fromkeys(PORTS, occupancy)) == []


def test_a_port_over_two_thirds_sends_a_bucket_to_the_emptiest_neighbour():
    changed = make_adapter().update({1: 0.7, 2: 0.5, 3: 0.1, 4: 0.5, 5: 0.5, 6: 0.5})
    assert {group.number & 0xFFF for group in changed} == {1}
    assert shares(changed, 1) == {1: BUCKETS - 1, 3: 1}


def test_a_crowded_port_sends_a_third_of_its_buckets_at_once():
    changed = make_adapter().update({1: 1.0, 2: 0.5, 3: 0.1, 4: 0.5, 5: 0.5, 6: 0.5})
    assert shares(changed, 1) == {1: BUCKETS - MOVED, 3: MOVED}


def test_a_port_that_drains_by_itself_is_left_alone():
    adapter = make_adapter()
    adapter.update({1: 0.79, 2: 0.79, 3: 0.79, 4: 0.79, 5: 0.79, 6: 0.79})
    assert adapter.update({1: 0.7, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.1, 6: 0.1}) == []


def test_every_bucket_is_one_that_the_proof_covered():
    adapter = make_adapter()
    for _ in range(50):
        for group in adapter.update({1: 1.0, 4: 0.9}):
            assert set(group.buckets) <= set(group.candidates)
            assert len(group.buckets) == BUCKETS


def test_detours_are_spread_over_equally_empty_neighbours():
    counts = shares(after(make_adapter(), {1: 1.0}, 4 * (REST_DETOURED + 1))[-1], 1)
    assert max(counts[port] for port in PORTS[1:]) - min(counts[port] for port in PORTS[1:]) <= 1


def test_traces_of_past_traffic_do_not_gather_the_detours_on_one_port():
    """A running mean of a port that was ever used never gets back to 0."""
    adapter = make_adapter()
    after(adapter, {port: port / 20 for port in PORTS}, 5)
    after(adapter, dict.fromkeys(PORTS, 0.0), 50)
    counts = shares(after(adapter, {1: 1.0}, 4 * (REST_DETOURED + 1))[-1], 1)
    assert max(counts[port] for port in PORTS[1:]) - min(counts[port] for port in PORTS[1:]) <= 1


def test_where_all_ports_are_full_nothing_moves():
    adapter = make_adapter()
    for _ in range(20):
        assert adapter.update(dict.fromkeys(PORTS, 1.0)) == []


def test_traffic_goes_back_step_by_step_when_the_port_is_free():
    adapter = make_adapter()
    before = shares(adapter.update({1: 1.0}), 1)[1]
    changes = after(adapter, dict.fromkeys(PORTS, 0.15), 70 * REST_RETURNED)
    counts = [shares(changed, 1)[1] for changed in changes]
    assert before < counts[0] < counts[1] < counts[-1] == BUCKETS


def test_the_minimal_share_grows_gently():
    adapter = make_adapter()
    counts = [shares(after(adapter, {1: 1.0}, 100)[-1], 1)[1]]
    changes = after(adapter, dict.fromkeys(PORTS, 0.0), 70 * REST_RETURNED)
    counts += [shares(changed, 1)[1] for changed in changes]
    assert counts[-1] == BUCKETS
    assert all(b - a <= max(1, a * SHARE_RETURNED) for a, b in itertools.pairwise(counts))


def test_detours_can_be_taken_back_all_at_once():
    adapter = make_adapter()
    adapter.update({1: 1.0})
    restored = adapter.restore()
    assert shares(restored, 1) == {1: BUCKETS}
    assert adapter.restore() == []


def test_a_crowded_detour_gives_back_even_to_a_crowded_port():
    """Otherwise detours, which take more links, would keep an overloaded fabric overloaded."""
    adapter = make_adapter()
    adapter.update({1: 1.0})
    changes = after(adapter, dict.fromkeys(PORTS, 1.0), 600)
    counts = [shares(changed, 1)[1] for changed in changes]
    assert counts == sorted(counts)
    assert counts[-1] == BUCKETS


def test_a_group_rests_after_a_change():
    assert len(after(make_adapter(), {1: 1.0}, 5 * (REST_DETOURED + 1))) == 5


@pytest.mark.parametrize("demand", [1.2, 1.5, 2.0, 3.0])
def test_the_share_settles_where_the_port_is_busy_without_flapping(demand):
    """A queue of 32 packets that is served 62.5 times a second and offered `demand` times as many."""
    adapter = make_adapter()
    queue, minimal = 0.0, BUCKETS
    kept, changes, passed = [], 0, 0.0
    for step in range(600):
        arriving = demand * 62.5 * 0.05 * minimal / BUCKETS
        leaving = min(queue + arriving, 62.5 * 0.05)
        queue = min(32.0, queue + arriving - leaving)
        changed = [
            g for g in adapter.update({1: queue / 32}) if g.number == group_number(GroupRole.CHOICE_FAR, 1)
        ]
        if changed:
            minimal = shares(changed, 1)[1]
        if step >= 300:
            kept.append(minimal / BUCKETS)
            changes += bool(changed)
            passed += leaving
    assert passed / (300 * 62.5 * 0.05) > 0.95
    assert sum(kept) / len(kept) == pytest.approx(1 / demand, rel=0.15)
    assert max(kept) - min(kept) < 0.35


# ---- parameters of the laws ----


def first_detour(text, occupancies):
    """Returns the least of the occupancies of port 1 at which its groups take a detour."""
    return next((o for o in occupancies if make_adapter(text).update({1: o})), None)


TENTHS = [tenth / 10 for tenth in range(11)]


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("ugal-pf", 0.7),
        ("ugal-pf:threshold=0.05", 0.1),
        ("ugal-pf:threshold=0.45", 0.5),
        ("ugal-pf:threshold=0.95", 1.0),
    ],
)
def test_detours_begin_at_the_threshold(text, least):
    assert first_detour(text, TENTHS) == least


def detoured(text, occupancy):
    """Returns the number of buckets of port 1's groups that a first step moves."""
    changed = make_adapter(text).update({1: occupancy})
    return BUCKETS - shares(changed, 1)[1] if changed else 0


def test_a_crowded_port_moves_the_step_and_others_a_bucket():
    assert detoured("ugal-pf:detour-step=0.5", 0.9) == BUCKETS / 2
    assert detoured("ugal-pf:detour-step=0.5,crowded=0.9", 0.9) == 1
    assert detoured("ugal-pf:threshold=0.5,crowded=0.5", 0.74) == 1
    assert detoured("ugal-pf:threshold=0.5,crowded=0.5", 0.75) == MOVED


def test_a_fast_rise_moves_many_buckets_before_the_port_is_crowded():
    for text, expected in (("ugal-pf", MOVED), ("ugal-pf:fast-rise=0.3", 1)):
        adapter = make_adapter(text)
        adapter.update({1: 0.5})
        assert BUCKETS - shares(adapter.update({1: 0.7}), 1)[1] == expected


@pytest.mark.parametrize(("margin", "moves"), [(0.5, True), (0.9, False)])
def test_a_detour_must_be_emptier_by_the_margin(margin, moves):
    changed = make_adapter(f"ugal-pf:threshold=0.6,margin={margin}").update(
        {1: 0.7, **dict.fromkeys(PORTS[1:], 0.3)}
    )
    assert bool(changed) is moves


@pytest.mark.parametrize(("release", "gives_back"), [(0.3, False), (0.9, True)])
def test_detours_are_given_back_below_the_release(release, gives_back):
    adapter = make_adapter(f"ugal-pf:release={release},rest-detoured=0")
    adapter.update({1: 1.0})
    assert bool(adapter.update({1: 0.5})) is gives_back


def test_a_group_rests_as_long_as_it_is_told():
    assert len(after(make_adapter("ugal-pf:rest-detoured=0"), {1: 1.0}, 4)) == 4
    assert len(after(make_adapter("ugal-pf:rest-detoured=9"), {1: 1.0}, 20)) == 2
    adapter = make_adapter("ugal-pf:rest-detoured=0,rest-returned=1")
    adapter.update({1: 1.0})
    assert len(after(adapter, {1: 0.0}, 10)) == 5


def test_the_minimal_share_grows_by_the_return_step():
    adapter = make_adapter("ugal-pf:return-step=0.5,rest-detoured=0")
    before = shares(adapter.update({1: 1.0}), 1)[1]
    assert shares(adapter.update({1: 0.0}), 1)[1] == min(BUCKETS, before + before // 2)


def test_a_running_mean_follows_its_weight():
    for weight, moves in ((1, True), (0.01, False)):
        adapter = make_adapter(f"ugal-pf:mean-weight={weight}")
        adapter.update({1: 0.1})
        assert bool(adapter.update({1: 0.9})) is moves


@pytest.mark.parametrize(
    ("text", "moves"), [("ugal", True), ("ugal:threshold=1.5", False), ("ugal:sampled=1", True)]
)
def test_ugals_threshold_decides_whether_detours_win(text, moves):
    plan = make_plan(PolarFly(5), 1, text)
    chosen = routing(text)
    adapter = SwitchAdapter(plan.switches[ROUTER], chosen.make_law(ROUTER + 1), chosen.control())
    assert bool(adapter.update({1: 0.7})) is moves


PERMUTATIONS = ("tornado", "random-permutation", "perm1hop", "perm2hop")
QUICK = {("ugal", "tornado"), ("ugal-pf", "random-permutation")}


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        pytest.param(name, pattern, marks=() if (name, pattern) in QUICK else pytest.mark.slow)
        for name in ("ugal", "ugal-pf")
        for pattern in PERMUTATIONS
    ],
)
@pytest.mark.parametrize(("load", "least"), [pytest.param(0.5, 0.46, marks=pytest.mark.slow), (1.0, 0.45)])
def test_permutations_get_half_of_the_injection_capacity(name, pattern, load, least):
    """Minimal routing accepts 0.28 to 0.33 of these; the paper's UGAL_PF about half."""
    bins = PacketModel(PolarFly(5), 3, name).run([(99, pattern)], load, 12)
    assert sum(bins[10:24]) / 14 > least


def test_a_threshold_decides_when_a_fabrics_detours_begin():
    """A tornado at 0.2 loads one link by 0.8: its queue is often not empty, and never full."""
    modified = {}
    for threshold in ("0.05", "0.95"):
        model = PacketModel(PolarFly(3), 2, f"ugal-pf:threshold={threshold}")
        model.run([(99, "tornado")], 0.2, 5)
        modified[threshold] = model.groups_modified
    assert modified["0.95"] == 0
    assert modified["0.05"] > 5


@pytest.mark.parametrize(("name", "load"), [("ugal", 0.6), ("ugal-pf", 0.8)])
def test_uniform_traffic_is_left_on_its_minimal_paths(name, load):
    model = PacketModel(PolarFly(5), 3, name)
    bins = model.run([(99, "uniform")], load, 8)
    assert sum(bins[4:16]) / 12 == pytest.approx(load, rel=0.03)
    assert model.groups_modified == 0


def test_overload_does_not_spread_by_detours():
    """Uniform traffic at full load passes 0.98 on minimal paths; detours must not take most of that."""
    bins = PacketModel(PolarFly(5), 3, "ugal-pf").run([(99, "uniform")], 1.0, 12)
    assert sum(bins[10:24]) / 14 > 0.75


def test_a_tornado_out_of_uniform_traffic_is_met_within_two_seconds():
    bins = PacketModel(PolarFly(5), 3, "ugal-pf").run([(6, "uniform"), (99, "tornado")], 0.5, 16)
    final = sum(bins[20:32]) / 12
    assert bins[12] < 0.75 * final
    assert sum(bins[16:20]) / 4 > 0.9 * final


@pytest.mark.parametrize("pattern", [PERMUTATIONS[0], *repeats(*PERMUTATIONS[1:])])
def test_port_statistics_alone_do_nearly_as_well(pattern):
    bins = PacketModel(PolarFly(5), 3, "ugal-pf", "port-statistics").run([(99, pattern)], 0.5, 24)
    assert sum(bins[24:48]) / 24 > 0.42


def test_port_statistics_leave_uniform_traffic_alone():
    model = PacketModel(PolarFly(5), 3, "ugal-pf", "port-statistics")
    model.run([(99, "uniform")], 0.6, 10)
    assert model.groups_modified == 0
