"""Settings of fabric and traffic as plain records, key by key, as results name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.codec import omitted
from topology.parameters import Value


@dataclass(frozen=True, kw_only=True)
class FabricSettings:
    """Settings of a fabric that its results depend on.

    Attributes:
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        hosts: p, hosts attached to each router that has any; of a graph with hosts of its own (`--from`,
            networkx), the factor of their numbers.
        link_rate_bps: rate of every port in bit/s.
        link_rate_from: origin of that rate: `given`; `rule`, the default where none was given
            (docs/how-to/links.md); `auto`, found by `--link-rate auto`. Absent from results of version 0.2.0.
        queue_packets: length of every port's queue in packets.
        mtu: longest packet of every port in bytes, without the Ethernet header.
        link_delay_ms: one-way delay of every link between routers in ms.
        link_loss: probability that such a link loses a packet, 0 to 1.
    """

    name: str
    params: Mapping[str, Value]
    hosts: int
    link_rate_bps: int
    queue_packets: int
    mtu: int = 1500
    link_delay_ms: float = 0.0
    link_loss: float = 0.0
    link_rate_from: str | None = omitted()


@dataclass(frozen=True, kw_only=True)
class PacketSettings:
    """Settings of generated packets that runs and sweeps share.

    Attributes:
        frame_bytes: length of a frame in bytes, without FCS.
        flows: source ports for each ordered pair of hosts.
        warmup_s: seconds before the measured window, at most, if `steady`.
        duration_s: seconds of the measured window.
        seed: seed of the random generator.
        faults: fault schedule, a line for each fault; of a session what failed and was restored, and when.
        arrivals: arrival process.
        steady: whether the warm-up ends when the throughput is steady.
        faults_asked: random failures from which the fault schedule was drawn.
    """

    frame_bytes: int | None = omitted()
    flows: int | None = omitted()
    warmup_s: float | None = omitted()
    duration_s: float | None = omitted()
    seed: int | None = omitted()
    faults: tuple[str, ...] | None = omitted()
    arrivals: str | None = omitted()
    steady: bool | None = omitted()
    faults_asked: str | None = omitted()


@dataclass(frozen=True, kw_only=True)
class TrafficSettings(PacketSettings):
    """Settings of the traffic, as asked for; a setting that does not apply is absent.

    Attributes:
        pattern: traffic pattern, or collective with its algorithm.
        load: offered load, 0 to 1 of the injection capacity.
        programs: programs of the user, a line for each.
        exec_timeout_s: longest time of a program in seconds.
        ranks: of a collective, the number of ranks.
        placement: of a collective, the assignment of ranks to hosts.
        message_bytes: of a collective, the message sizes in bytes.
        iterations, warmup_iterations: of a collective, measured iterations of each size, and those before.
        slices: of a collective, the slices of a vector that are worked on side by side.
        flow_sizes: of TCP flows, the distribution of their sizes; absent where a file is replayed.
        flow_size_limit: of TCP flows, the size in bytes that larger ones are cut to.
        flow_file: of TCP flows, the file that is replayed.
        tcp: of TCP flows, the congestion control algorithm.
        drain_s: of TCP flows, seconds after the last start in which flows may be completed.
        elements: of a failover, the elements that were asked to fail; none for the link that most minimal
            paths cross.
        kill_controller: of a failover, whether the controller is killed before.
        fail_s, restore_s, end_s: of a failover, times of failure, restoration and end in seconds.
        fail: elements of a series of failovers, as asked for.
        repeat: failovers of a series.
    """

    pattern: str | None = omitted()
    load: float | None = omitted()
    programs: tuple[str, ...] | None = omitted()
    exec_timeout_s: float | None = omitted()
    ranks: int | None = omitted()
    placement: str | None = omitted()
    message_bytes: tuple[int, ...] | None = omitted()
    iterations: int | None = omitted()
    warmup_iterations: int | None = omitted()
    slices: int | None = omitted()
    flow_sizes: str | None = omitted()
    flow_size_limit: int | None = omitted()
    flow_file: str | None = omitted()
    tcp: str | None = omitted()
    drain_s: float | None = omitted()
    elements: tuple[str, ...] | None = omitted()
    kill_controller: bool | None = omitted()
    fail_s: float | None = omitted()
    restore_s: float | None = omitted()
    end_s: float | None = omitted()
    fail: str | None = omitted()
    repeat: int | None = omitted()
