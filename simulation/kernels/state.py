"""Arrays of a simulation, in a named tuple that compiled code accepts.

All data of one port, queue, host or packet is a row of an array, so that it shares a cache line.

Ports of a router are numbered from 0, independently of port numbers on a switch: first the ports of its
links, in the order of its neighbours, then those of its hosts. A port is an input and an output. A queue is
the buffer of one virtual channel of an input; its number is `(input << channel_shift) + channel`.

Ticks are the internal steps of the routers, SPEEDUP per cycle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

NONE: Final = -1

# Columns of `State.packets`: destination host and its router, tag, hops so far, time of generation (credit:
# cycle, drop: tick), flags, next queue, total link delay so far (TWO_DELAYS).
HOST, ROUTER, TAG, HOPS, GENERATED, FLAGS, QUEUE, PATH_CYCLES, PACKET_COLUMNS = range(9)
# Bits of FLAGS. From bit ARRIVED_TAG_SHIFT on: the tag + 1 with which the packet arrived at the router that
# routed it last.
MEASURED: Final = 1
DETOURED: Final = 2
MARKED: Final = 4
ARRIVED_MARKED: Final = 8
ARRIVED_TAG_SHIFT: Final = 4

# Columns of `State.inputs`: tick in which the input becomes free, channel that was granted last; bit mask of
# channels whose heads are not blocked; whether the input is in the wheel; router; whether it is connected to
# a host; row of `State.credits` with the delay of its credits.
INPUT_FREE, INPUT_TURN, READY, PLANNED, OWNER, HOST_INPUT, CREDIT_CLASS, _, INPUT_COLUMNS = range(9)

# Columns of `State.outputs`: tick in which the output becomes free, cycle in which its link does; port that
# was granted last; tick of the last request, queue that wins the output in this tick, and number of requests;
# first queue that waits for the output; whether the output is in the wheel; flits that it sent in the window;
# port at the other end of its link (-1 - host if that is a host), delay of the link in cycles.
(
    OUTPUT_FREE,
    LINK_FREE,
    OUTPUT_TURN,
    REQUEST_TICK,
    WINNER,
    REQUESTS,
    OUTPUT_WAITERS,
    RELEASE_PLANNED,
    FLITS_SENT,
    PEER,
    DELAY,
) = range(11)
OUTPUT_COLUMNS: Final = 16  # a cache line

# Columns of `State.queues`: ring index of the head, number of packets, free room in flits as known to the
# sender; the head's output and target queue; next queue of the list in which the head waits, or NOT_BLOCKED;
# first queue that waits for room in this one; output that sends here, or -1 - host; then the packets, a ring.
# With the default buffers of eight packets, a row is a cache line.
(
    FIRST,
    COUNT,
    ROOM,
    OUTPUT,
    TARGET,
    NEXT_BLOCKED,
    ROOM_WAITERS,
    SENDER,
    PACKETS,
) = range(9)
NOT_BLOCKED: Final = -2

# Columns of `State.wheel`, whose rows are ticks: first packet that arrives, first input to visit, first
# output that becomes free.
ARRIVALS, INPUTS, OUTPUTS, WHEEL_COLUMNS = range(4)

# Columns of `State.credit_rings`, with a row per delay: the delay in ticks, start and end of the ring, then
# the ring's end in each of the last ticks.
RING_DELAY, RING_BEGIN, RING_END, RING_ENDS = range(4)

# Columns of `State.hosts`: port, delay of its link; how destinations are chosen, and the only one (PARTNER);
# time of generation of the next packet in 1/65,536 cycles, cycle (drop: tick) in which the link becomes free,
# channel of the last packet, whether the next packet waits for room; first and last share (SHARES).
(
    HOST_PORT,
    HOST_DELAY,
    KIND,
    PARTNER_HOST,
    NEXT_GENERATED,
    HOST_FREE,
    LAST_CHANNEL,
    WAITING,
    FIRST_SHARE,
    LAST_SHARE,
) = range(10)
HOST_COLUMNS: Final = 16  # the first eight are a cache line
IDLE, UNIFORM, PARTNER, SHARES, HOT = range(5)

# Columns of `State.outcomes`, `State.adaptive`, `State.bundles` and `State.detours`; see
# `simulation.tables.model`. A choice is identified by its first outcome, which has the number of outcomes and
# the sum of their weights. BUNDLE_PORT is the common output of a bundle's detours, or NONE if they use
# several. DETOURS_BEFORE is the number of detours in all previous bundles; the last row has the total.
OUT_PORT, OUT_TAG, OUT_MARK, OUT_WEIGHT, OUT_COUNT, OUT_WEIGHTS, _, _, OUTCOME_COLUMNS = range(9)
MINIMAL, MINIMAL_HOPS, BUNDLE_START, ADAPTIVE_COLUMNS = range(4)
BUNDLE_CHOICE, DETOUR_START, BUNDLE_PORT, DETOURS_BEFORE, BUNDLE_COLUMNS = range(5)
DETOUR_CHOICE, DETOUR_HOPS, DETOUR_COLUMNS = range(3)

# Columns of `State.guide`.
FIRST_GAP, FRACTION = range(2)

# Columns of `State.messages`: source and destination host; packets not sent and packets not arrived, both 0
# for a computation; number of messages that it still waits for; cycles of its computation after these have
# arrived; cycle in which it became ready to be sent; cycle in which it is due, first to become ready, then to
# have arrived; start and end of its dependents in `State.successors`; next message of a list.
(
    MESSAGE_SOURCE,
    MESSAGE_DESTINATION,
    UNSENT,
    UNARRIVED,
    WAITS_FOR,
    COMPUTE_CYCLES,
    READY_CYCLE,
    DUE_CYCLE,
    FIRST_SUCCESSOR,
    LAST_SUCCESSOR,
    NEXT_MESSAGE,
    MESSAGE_COLUMNS,
) = range(12)

# Columns of `State.message_queues`: first and last message that is ready to be sent.
FIRST_MESSAGE, LAST_MESSAGE, MESSAGE_QUEUE_COLUMNS = range(3)

# Entries of `State.counts`. "Measured" packets are those generated in the window.
(
    TICK,  # current tick
    UNUSED,  # size of the stack `State.unused`
    NEW_HEADS,  # number of queues whose head has not been routed
    WINDOW_BEGIN,  # first cycle of the measurement window
    WINDOW_END,  # first cycle after it
    OFFERED,  # measured packets
    ACCEPTED,  # packets that arrived in the window
    DELIVERED,  # measured packets that arrived
    DROPPED,  # measured packets that were dropped or lost
    LATENCY_SUM,  # of DELIVERED
    LATENCY_MAX,  # of DELIVERED
    DETOURED_COUNT,  # DELIVERED packets that took a detour
    PACKET_HOPS,  # hops of all packets
    ARRIVED,  # all packets that arrived
    ARRIVED_LATENCY,  # sum over ARRIVED
    BEHIND,  # hosts that may still send measured packets, or messages that have not arrived
    SCHEDULED,  # packets of the schedule that have been generated
    STARTED,  # 1 after sources have drawn the times of their first packets
    MESSAGE_CYCLE,  # last cycle in which messages became ready
    LOST,  # all packets that could not be forwarded or were lost on a link
    LAST_LOSS,  # tick of the last of these
    OVERFLOWED,  # all packets that full queues dropped
    ARRIVED_HOPS,  # sum over ARRIVED
    ARRIVED_PATHS,  # sum of the link delays over ARRIVED, in cycles (TWO_DELAYS)
    PATHS_SUM,  # sum of the link delays over DELIVERED, in cycles (TWO_DELAYS)
    COUNTS,
) = range(26)

# Entries of `State.settings`. LARGE: whether the arrays exceed the processor's caches, so that prefetching
# pays off. TWO_DELAYS: whether links between routers have different delays. RANDOM_NEIGHBOUR: whether a
# detour starts at a random port instead of the least occupied one (THRESHOLD_LAW).
(
    SPEEDUP,
    FLITS,
    CHANNELS,
    CHANNEL_SHIFT,
    QUEUE_PLACES,
    POLICY,
    ROUTER_TICKS,
    SOURCE_CYCLES,
    LAW,
    THRESHOLD,
    CANDIDATES,
    RANDOM_ARBITER,
    MIN_GAP,
    CONSTANT_GAP,
    BUFFER,
    HOT_SHARE,
    FROM_HOST,
    UNTAGGED,
    TAGGED,
    AFTER_TAG,
    MARKED_UNTAGGED,
    MARKED_TAGGED,
    BURST,
    WHOLE_PATH,
    FLOWS,
    ROUTERS,
    LARGE,
    TWO_DELAYS,
    MARGIN,
    RANDOM_NEIGHBOUR,
    SETTINGS,
) = range(31)
# From ANY_CHANNEL on, packets wait for room in any channel, not for one that was chosen before.
BY_HOP, BY_CLASS, RANDOM_CHANNEL, BY_LEVEL, ANY_CHANNEL, FREE_CHANNEL = range(6)
MINIMAL_LAW, THRESHOLD_LAW, PRODUCT_LAW, BUCKET_LAW, PIGGYBACK_LAW = range(5)


class State(NamedTuple):
    """Arrays of a simulation; the constants above name the columns of two-dimensional arrays.

    Attributes:
        settings: int64, constants of the simulation.
        counts: int64, measurements and the current time.
        first_ports: (N + 1,): first port of each router.
        inputs: (ports, columns).
        outputs: (ports, columns).
        used: (ports,): flits sent by an output that still occupy the buffer at the other end (drop:
            flits that wait in the output's queue).
        global_ports: (ports,): 1 if the output's link leads out of a cluster, else 0.
        queues: (queues, columns).
        hosts: (H, columns).
        packets: (maximum number of packets, columns).
        unused: unused rows of `packets`, a stack.
        random: (N,): states of the routers' random generators.
        host_random: (H,): states of the hosts' random generators.
        wheel: (ticks, columns): timing wheel with the first event of each linked list. The next three arrays
            link the other events.
        next_packet: (maximum number of packets,): next packet of a list, or NONE.
        next_input: (ports,): next input of a list, or NONE.
        next_output: (ports,): next output of a list, or NONE.
        events: (ports,): working memory: the events of one list in consecutive entries.
        source_wheel: (cycles,): first host to visit in each cycle.
        next_host: (H,): next host to visit, or NONE.
        credits: (delays, places): queues in which room becomes free, a ring for each delay.
        credit_rings: (delays, columns).
        requested: outputs requested in this tick.
        new_heads: queues whose head has not been routed.
        lookups: (layers * N * N,): choices; settings have the indices of the layers.
        outcomes, adaptive, bundles, detours: forwarding tables.
        gaps: cumulative thresholds in units of 2^-32: a gap is longer than `MIN_GAP + k` cycles if a random
            number is at least `gaps[k]`. A number above all thresholds adds as many cycles as there are
            thresholds, and another number is drawn.
        guide: (257, columns): row i has the k at which the search in `gaps` starts for random numbers whose
            upper 8 bits are i, and a quantile of the fractional part of a gap
            (`simulation.sources.cycle_fractions`).
        shares: (shares, 2): cumulative share of a source's destinations up to this one in units of 2^-32, and
            the destination host.
        hot_hosts: hosts that receive the hot packets.
        schedule: (packets, 3): tick of generation, source and destination, in chronological order (drop).
        latencies: packets by histogram bin of their latency.
        hops: packets by number of hops.
        host_routers: (H,): router of each host.
        host_ports: (H,): port through which its router delivers to each host, or NONE.
        host_packets: (H,): packets that arrived at each host in the window.
        port_drops: (ports,): packets lost in the window in the queue of an output or on its link.
        buckets: (adaptive choices, buckets of a group): first outcome of each bucket, with DETOUR_BIT for a
            detour; NONE for a dead bucket. (0, 0) if the decision law does not use buckets.
        messages: (messages, columns): messages of an application; empty for random packets.
        successors: dependents of all messages, concatenated.
        message_wheel: (cycles,): first message that is due in each cycle.
        message_queues: (H, columns): the queue of messages that each host is ready to send.
        message_hosts: (H,): working memory: hosts whose first message has become ready in this cycle.
        packet_messages: (maximum number of packets,): message of a packet.
    """

    settings: Int64
    counts: Int64
    first_ports: Int32
    inputs: Int32
    outputs: Int32
    used: Int32
    global_ports: Int32
    queues: Int32
    hosts: Int64
    packets: Int32
    unused: Int32
    random: Int64
    host_random: Int64
    wheel: Int32
    next_packet: Int32
    next_input: Int32
    next_output: Int32
    events: Int32
    source_wheel: Int32
    next_host: Int32
    credits: Int32
    credit_rings: Int64
    requested: Int32
    new_heads: Int32
    lookups: Int32
    outcomes: Int32
    adaptive: Int32
    bundles: Int32
    detours: Int32
    gaps: Int64
    guide: Int32
    shares: Int64
    hot_hosts: Int32
    schedule: Int64
    latencies: Int64
    hops: Int64
    host_routers: Int32
    host_ports: Int32
    host_packets: Int64
    port_drops: Int64
    buckets: Int32
    messages: Int64
    successors: Int32
    message_wheel: Int32
    message_queues: Int32
    message_hosts: Int32
    packet_messages: Int32
