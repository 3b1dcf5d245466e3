"""Packet model of a fabric's queues for tests of control laws: packets, ports, flows, control steps.

It runs a plan's adaptive groups with the law, step and queues of the real controller, and simplifies the
rest: no host links, no delays but those of queues and frames.
"""

import heapq
import random
from bisect import bisect
from itertools import accumulate

from controller.occupancy.port_statistics import PortCounters, PortStatisticsOccupancy
from routing.algorithms.bucket_control import SwitchAdapter
from routing.plan.model import SetField, ToGroup
from routing.registry import make_plan, routing
from traffic.workload.patterns import make_pattern

STEP_S = 0.05
BIN_S = 0.5
RATE_BPS, FRAME_BYTES, QUEUE, FLOWS = 500_000, 1000, 32, 64
BURST = 3  # frames that the token bucket lets pass at once: the queue is empty until they are used up


class PacketModel:
    """A fabric under an adaptive routing; `run` offers it one pattern after another."""

    def __init__(self, topology, hosts, name, source="netlink"):
        self.topology, self.hosts = topology, hosts
        plan = make_plan(topology, hosts, name)
        chosen = routing(name)
        self.adapters = [
            SwitchAdapter(switch, chosen.make_law(switch.router + 1), chosen.control())
            for switch in plan.switches
        ]
        self.groups = [{group.number: group for group in switch.groups} for switch in plan.switches]
        self.group_toward = [self._groups_by_destination(switch) for switch in plan.switches]
        self.next_hops = topology.all_next_hops().tolist()
        self.neighbours = [topology.neighbours(r).tolist() for r in range(topology.routers)]
        self.service_s = FRAME_BYTES * 8 / RATE_BPS
        self.free_s = [[0.0] * len(around) for around in self.neighbours]
        self.sent = [[0] * len(around) for around in self.neighbours]
        self.dropped = [[0] * len(around) for around in self.neighbours]
        self.groups_modified = 0
        self.statistics = None
        if source == "port-statistics":
            ports = {r + 1: frozenset(range(1, len(a) + 1)) for r, a in enumerate(self.neighbours)}
            self.statistics = PortStatisticsOccupancy(ports, RATE_BPS, QUEUE)

    def _groups_by_destination(self, switch):
        toward = {}
        for rule in switch.rules:
            group = next((a.group for a in rule.actions if isinstance(a, ToGroup)), None)
            place = next((f for f in rule.match if f.field == "ipv4_dst"), None)
            if rule.table == 1 and group and place:
                toward[place.value] = group
        by_router = {}
        for value, group in toward.items():
            by_router[(value >> 8) & 0xFFFF] = group
        return by_router

    def run(self, patterns, load, seconds, seed=1):
        """Offers patterns one after another and returns the accepted fraction of every half second.

        Args:
            patterns: (end of the pattern in s, its name), in order of time.
            load: offered fraction of the hosts' injection capacity.
            seconds: simulated time.
            seed: seed of arrivals, flows and the patterns.
        """
        rng = random.Random(seed)
        senders = self.topology.routers * self.hosts
        tables = [(until_s, self._choices(name, seed)) for until_s, name in patterns]
        rate = load / self.service_s
        events = [(rng.expovariate(rate), host, None) for host in range(senders)]
        events.append((STEP_S, senders, None))
        heapq.heapify(events)
        bins = [0] * (int(seconds / BIN_S) + 1)
        hashes, number = {}, senders
        while events:
            now, who, packet = heapq.heappop(events)
            if now >= seconds:
                break
            if who == senders:
                heapq.heappush(events, (now + STEP_S, who, None))
                self._step(now)
                continue
            if packet is None:
                heapq.heappush(events, (now + rng.expovariate(rate), who, None))
                table = next(table for until_s, table in tables if now < until_s)
                places, sums = table[who]
                target = places[min(bisect(sums, rng.random() * sums[-1]), len(places) - 1)]
                router, end = who // self.hosts, target // self.hosts
                flow = (who, target, rng.randrange(FLOWS))
                bucket = hashes.setdefault(flow, rng.randrange(64))
                if router == end:
                    bins[int(now / BIN_S)] += 1
                    continue
                group = self.groups[router][self.group_toward[router][end]]
                port, tag = _port_and_tag(group, bucket % len(group.buckets))
            else:
                router, end, tag = packet
                if tag == router:
                    tag = None
                if router == end and tag is None:
                    bins[int(now / BIN_S)] += 1
                    continue
                onward = self.next_hops[router][end if tag is None else tag]
                port = self.neighbours[router].index(onward) + 1
            start_s = max(now, self.free_s[router][port - 1])
            if start_s - now > (QUEUE + BURST) * self.service_s:
                self.dropped[router][port - 1] += 1
                continue
            self.sent[router][port - 1] += 1
            self.free_s[router][port - 1] = start_s + self.service_s
            number += 1
            packet = (self.neighbours[router][port - 1], end, tag)
            heapq.heappush(events, (start_s + self.service_s, number, packet))
        return [count * self.service_s / BIN_S / senders for count in bins]

    def _choices(self, name, seed):
        shares = make_pattern(name, self.topology, self.hosts, seed).shares()
        chosen = []
        for row in shares:
            places = row.nonzero()[0]
            chosen.append((places.tolist(), list(accumulate(row[places].tolist()))))
        return chosen

    def _step(self, now):
        for router, occupancies in self._occupancies(now):
            for group in self.adapters[router].update(occupancies):
                self.groups[router][group.number] = group
                self.groups_modified += 1

    def _waiting(self, router, port, now):
        return max(0.0, (self.free_s[router][port] - now) / self.service_s - BURST)

    def _occupancies(self, now):
        if self.statistics is None:
            for router, around in enumerate(self.neighbours):
                full = [min(1.0, self._waiting(router, port, now) / QUEUE) for port in range(len(around))]
                yield router, {port + 1: share for port, share in enumerate(full)}
            return
        for number in self.statistics.due(range(1, 1 + self.topology.routers), now):
            router = number - 1
            self.statistics.add_counters(number, now, self._counters(router, now))
        for number, occupancies in self.statistics.read().items():
            yield number - 1, occupancies

    def _counters(self, router, now):
        return {
            port + 1: PortCounters(
                int(FRAME_BYTES * (sent - self._waiting(router, port, now))), self.dropped[router][port]
            )
            for port, sent in enumerate(self.sent[router])
        }


def _port_and_tag(group, number):
    bucket = group.buckets[number]
    (port,) = group.ports[group.candidates.index(bucket)]
    tags = [a.value & 0xFFF for a in bucket.actions if isinstance(a, SetField) and a.field == "vlan_vid"]
    return port, tags[0] - 1 if tags else None
