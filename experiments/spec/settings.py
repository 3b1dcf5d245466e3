"""Settings of fabric and traffic, key by key, as kept in results."""

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
        hosts: p, the number of hosts attached to each router that has any; for a graph with its own hosts
            (`--from`, networkx), the factor by which their numbers are multiplied.
        link_rate_bps: rate of every port in bit/s.
        link_rate_from: origin of that rate: `given`; `rule`, the default (docs/how-to/links.md); or `auto`,
            found by `--link-rate auto`. Absent from results of version 0.2.0.
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
        flows: number of source ports for each ordered pair of hosts.
        warmup_s: seconds before the measurement window; if `steady`, an upper limit.
        duration_s: length of the measurement window in s.
        seed: seed of the random generator.
        faults: fault schedule, one line per fault; for a session, the failures and restorations.
        arrivals: arrival process.
        steady: whether the warm-up ends when throughput has reached a steady state.
        faults_asked: requested random failures, from which the fault schedule was drawn.
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
    """Requested settings of the traffic; a setting that does not apply is absent.

    Attributes:
        pattern: traffic pattern, or collective with its algorithm.
        load: offered load, 0 to 1 of the injection capacity.
        programs: user programs, one line each.
        exec_timeout_s: timeout of programs in seconds.
        ranks: number of ranks of a collective.
        placement: assignment of a collective's ranks to hosts.
        message_bytes: message sizes of a collective in bytes.
        iterations, warmup_iterations: measured iterations of each message size, and iterations before them.
        slices: number of slices of a collective's vector that are processed in parallel.
        flow_sizes: size distribution of TCP flows; absent if a file is replayed.
        flow_size_limit: size in bytes to which larger TCP flows are truncated.
        flow_file: file of TCP flows that is replayed.
        tcp: congestion control algorithm of TCP flows.
        drain_s: seconds after the last start in which TCP flows can complete.
        elements: requested links and switches to fail in a failover; empty for the link on the
            largest number of minimal paths.
        kill_controller: whether the controller is killed before a failover.
        fail_s, restore_s, end_s: times of failure, restoration and end of a failover in seconds.
        fail: requested failures of a series of failovers.
        repeat: number of failovers in a series.
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
