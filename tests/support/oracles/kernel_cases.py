"""Short simulations that take every path of the kernels; as a program, prints their digests as JSON."""

from __future__ import annotations

import json
from itertools import product

from support.builders.simulated_networks import digest, polarfly_pattern, polarfly_tables, simulated

from routing.registry import make_plan
from simulation.bucket_loop import BucketLoop
from simulation.faults import SimulatedFaults
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule

_POLICIES = ("hop", "class", "any", "random")
_LAWS = {"minimal": ("min", "valiant", "compact-valiant"), "threshold": ("ugal-pf",), "product": ("ugal",)}
_ARBITRATIONS = ("round-robin", "random")
_SPEEDUPS = (1, 2, 3)
_ARRIVALS = ("bernoulli", "poisson", "constant")
_PATTERNS = ("uniform", "random-permutation", "hotspot:hosts=2,share=0.5", "shares", "bit-reverse")


def digests() -> dict[str, str]:
    """Returns the digests of all cases by their names."""
    found = {}
    cases = product(_POLICIES, _LAWS, _ARBITRATIONS, _SPEEDUPS)
    for number, (policy, law, arbitration, speedup) in enumerate(cases):
        q = 2 + number % 5 // 4  # ER_3 takes five times as long
        routing = _LAWS[law][number % len(_LAWS[law])]
        pattern = _PATTERNS[(number + number // 5) % len(_PATTERNS)]
        arrivals = _ARRIVALS[(number + number // 9) % len(_ARRIVALS)]
        hosts = 1 + number % 2
        result = simulated(
            polarfly_tables(q, hosts, routing),
            polarfly_pattern(q, hosts, pattern),
            (0.3, 0.9)[number % 7 // 4],
            arrivals=arrivals,
            decision=Decision(law=law, threshold=0.25),
            warmup=40,
            window=60,
            most_drain=120,
            seed=number,
            channel_policy=policy,
            arbitration=arbitration,
            speedup=speedup,
            packet_flits=(1, 3, 4)[number % 3],
            channels=(4, 2, 3)[number // 2 % 3],
            buffer_flits=(4, 8, 9)[number // 3 % 3],
        )
        name = f"ER_{q} {policy} {law} {routing} {arbitration} {speedup} {arrivals} {pattern} {number}"
        found[name] = digest(result)
    others = (
        _digests_of_dropping_queues(),
        _digests_of_faults(),
        _digests_of_loops(),
        _digests_of_links(),
        _digests_of_far_sight(),
    )
    return found | {name: one for part in others for name, one in part.items()}


def _digests_of_dropping_queues() -> dict[str, str]:
    found = {}
    for number, law in enumerate(_LAWS):
        routing = _LAWS[law][-1]
        result = simulated(
            polarfly_tables(2, 2, routing),
            polarfly_pattern(2, 2, _PATTERNS[number % len(_PATTERNS)]),
            0.9,
            arrivals=_ARRIVALS[number % len(_ARRIVALS)],
            decision=Decision(law=law, threshold=0.25),
            warmup=40,
            window=60,
            most_drain=120,
            seed=number,
            flow_control="drop",
            queue_packets=2,
            burst_packets=1 + number / 2,
        )
        found[f"drop {law} {routing}"] = digest(result)
    return found


def _digests_of_faults() -> dict[str, str]:
    found = {}
    topology = PolarFly(2)
    lines = ("50 fail link:s1-s5", "60 fail switch:s3", "80 restore link:s1-s5", "90 restore switch:s3")
    for number, flow_control in enumerate(("credit", "drop")):
        plan = make_plan(topology, 2, "ugal-pf")
        routers = RouterSettings(flow_control=flow_control, buffer_flits=8, queue_packets=2)
        faults = SimulatedFaults(plan, parse_schedule("\n".join(lines), topology), 15, routers)
        result = simulate(
            polarfly_tables(2, 2, "ugal-pf"),
            Workload(pattern=polarfly_pattern(2, 2, "uniform"), load=0.9),
            routers,
            Decision(law="threshold", threshold=0.25),
            Times(warmup=40, window=60, most_drain=120),
            number,
            interventions=[faults],
        )
        assert faults.course().done[0].lost_packets
        found[f"faults {flow_control}"] = f"{digest(result)} {faults.course()}"
    return found


def _digests_of_loops() -> dict[str, str]:
    found = {}
    for number, (flow_control, name) in enumerate(product(("credit", "drop"), ("ugal", "ugal-pf"))):
        plan = make_plan(PolarFly(2), 2, name)
        routers = RouterSettings(flow_control=flow_control)
        tables = compile_tables(plan, candidates=True)
        loop = BucketLoop(plan, tables, 10, routers)
        result = simulate(
            tables,
            Workload(pattern=polarfly_pattern(2, 2, "random-permutation"), load=0.9),
            routers,
            Decision(law="buckets", flows=5),
            Times(warmup=40, window=60, most_drain=120),
            number,
            interventions=[loop],
        )
        found[f"loop {flow_control} {name}"] = f"{digest(result)} {loop.moved}"
    return found


def _digests_of_links() -> dict[str, str]:
    found = {}
    for number, flow_control in enumerate(("credit", "drop")):
        result = simulated(
            polarfly_tables(2, 2, "ugal-pf"),
            polarfly_pattern(2, 2, "uniform"),
            0.8,
            decision=Decision(law="threshold", threshold=0.25),
            warmup=40,
            window=60,
            most_drain=120,
            seed=number,
            flow_control=flow_control,
            link_cycles=2,
            global_link_cycles=9,
        )
        found[f"two delays of links {flow_control}"] = digest(result)
    return found


def _digests_of_far_sight() -> dict[str, str]:
    found = {}
    laws = Decision(law="piggyback", margin=0), Decision(law="product", whole_path=True)
    for number, decision in enumerate(laws):
        result = simulated(
            polarfly_tables(2, 2, "ugal"),
            polarfly_pattern(2, 2, "uniform"),
            0.8,
            decision=decision,
            warmup=40,
            window=60,
            most_drain=120,
            seed=number,
        )
        found[f"far sight {decision.law}"] = digest(result)
    return found


if __name__ == "__main__":
    print(json.dumps(digests()))
