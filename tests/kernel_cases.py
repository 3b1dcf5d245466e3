"""Short simulations that take every path of the kernels; as a program, prints their digests as JSON."""

from __future__ import annotations

import json
from itertools import product

from simulated_networks import digest, polarfly_pattern, polarfly_tables, simulated

from simulation.settings import Decision

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
    return found | _digests_of_dropping_queues()


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


if __name__ == "__main__":
    print(json.dumps(digests()))
