"""Arrays of a simulation, in a named tuple that compiled code takes.

What belongs to one port, one queue, one host or one packet is a row of an array, so that it is read together.

Ports of a router are counted from 0, whatever their numbers are on a switch: first those of its links, in the
order of its neighbours, then those of its hosts. A port is an input and an output. A queue is the buffer of
one virtual channel of an input; its number is `(input << channel_shift) + channel`.

Ticks are the internal steps of the routers, SPEEDUP of them a cycle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

NONE: Final = -1

# Columns of `State.packets`: destination host and its router, tag, links so far, birth (cycle), flags, queue
# that it goes to, cycles of the links so far (TWO_DELAYS).
HOST, ROUTER, TAG, HOPS, BIRTH, FLAGS, QUEUE, PATH_CYCLES, PACKET_COLUMNS = range(9)
# Bits of FLAGS; those from ARRIVED_TAG_SHIFT on are the tag + 1 with which it came to the router that routed
# it last.
MEASURED: Final = 1
DETOURED: Final = 2
MARKED: Final = 4
ARRIVED_MARKED: Final = 8
ARRIVED_TAG_SHIFT: Final = 4

# Columns of `State.inputs`: tick from which the input is free, channel that was granted last; channels whose
# heads do not wait, a bit each; whether the input is in the wheel; router; whether a host sends there; class
# of the delay of its credits.
INPUT_FREE, INPUT_TURN, READY, PLANNED, OWNER, OF_HOST, CREDIT_CLASS, _, INPUT_COLUMNS = range(9)

# Columns of `State.outputs`: tick from which the output is free, cycle from which its link is; port that was
# granted last; tick in which the output was last asked for, queue that is to get it, and number of those that
# ask; first of the queues that wait for the output; whether the output is in the wheel; flits that it sent in
# the window; port at the other end of its link (-1 - host at a port of a host), cycles of the link.
(
    OUTPUT_FREE,
    LINK_FREE,
    OUTPUT_TURN,
    ASKED,
    ASKING,
    ASKERS,
    BUSY,
    RELEASED,
    FLITS_SENT,
    PEER,
    DELAY,
) = range(11)
OUTPUT_COLUMNS: Final = 16  # a line of the processor's cache

# Columns of `State.queues`: place of the head, packets in the queue, free flits as the sender knows them; the
# head's output and target queue; the next queue of the list in which the head waits, or FREE; first of the
# queues that wait for room in this one; output that sends there, or -1 - host; then the packets, a ring. With
# the default buffers of eight packets a row is a line of the processor's cache.
(
    FIRST,
    COUNT,
    ROOM,
    OUTPUT,
    TARGET,
    NEXT_BLOCKED,
    SHORT,
    SENDER,
    PACKETS,
) = range(9)
FREE: Final = -2

# Columns of `State.wheel`, whose rows are ticks: first packet that arrives, input to look at, output that
# becomes free.
ARRIVALS, INPUTS, OUTPUTS, WHEEL_COLUMNS = range(4)

# Columns of `State.credit_rings`, whose rows are classes of delay: the delay in ticks, begin and end of the
# ring, then its end in each of the last ticks.
RING_DELAY, RING_BEGIN, RING_END, RING_ENDS = range(4)

# Columns of `State.hosts`: port, cycles of its link; kind of destinations, and the only one (PARTNER); birth
# of the next packet in 1/65,536 cycles, cycle (drop: tick) from which the link is free, channel of the last
# packet, whether the next packet waits for room; first and last of the shares (SHARES).
(
    HOST_PORT,
    HOST_DELAY,
    KIND,
    PARTNER_HOST,
    NEXT_BIRTH,
    HOST_FREE,
    LAST_CHANNEL,
    WAITING,
    FIRST_SHARE,
    LAST_SHARE,
) = range(10)
HOST_COLUMNS: Final = 16  # the first eight are a line of the processor's cache
IDLE, UNIFORM, PARTNER, SHARES, HOT = range(5)

# Columns of `State.outcomes`, `State.adaptive`, `State.bundles` and `State.detours`; see
# `simulation.tables.model`. A choice is known by its first outcome, which tells their number and the sum of
# their weights. BUNDLE_PORT is the port by which all detours of a bundle leave, or NONE if they have several.
# DETOURS_BEFORE is the number of the detours of the bundles before; a last row tells that of all.
OUT_PORT, OUT_TAG, OUT_MARK, OUT_WEIGHT, OUT_COUNT, OUT_WEIGHTS, _, _, OUTCOME_COLUMNS = range(9)
MINIMAL, MINIMAL_HOPS, BUNDLE_START, ADAPTIVE_COLUMNS = range(4)
BUNDLE_CHOICE, DETOUR_START, BUNDLE_PORT, DETOURS_BEFORE, BUNDLE_COLUMNS = range(5)
DETOUR_CHOICE, DETOUR_HOPS, DETOUR_COLUMNS = range(3)

# Columns of `State.guide`.
FIRST_GAP, FRACTION = range(2)

# Columns of `State.messages`: source and destination host; packets that have not been sent, and that have
# not arrived, none of a computation; messages that it waits for; cycles of computing when these have arrived;
# cycle in which it became ready to be sent, and in which it is due: ready, then arrived; first of the
# messages that wait for it, and the end of these; next message of a list.
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

# Columns of `State.message_queues`: first and last message that may be sent.
FIRST_MESSAGE, LAST_MESSAGE, MESSAGE_QUEUE_COLUMNS = range(3)

# Entries of `State.counts`: present tick, unused packets, queues whose head has not been routed; begin and
# end of the window; packets born in the window, packets that arrived in it; of the
# packets born in it, those delivered, dropped, their latencies; then of all packets. Then hosts that may
# still send packets of the window, or messages that have not arrived; whether sources have drawn their first
# births; and the last cycle in which messages became ready. At last, of all packets, those without a way on
# (LOST), the tick of the last of these, those that full queues dropped, the links between routers that those
# which arrived had taken, and the cycles of these links (TWO_DELAYS); and the cycles of those of the packets
# delivered of those born in the window.
(
    TICK,
    UNUSED,
    NEW_HEADS,
    WINDOW_BEGIN,
    WINDOW_END,
    OFFERED,
    ACCEPTED,
    DELIVERED,
    DROPPED,
    LATENCY_SUM,
    LATENCY_MAX,
    DETOURED_COUNT,
    PACKET_HOPS,
    ARRIVED,
    ARRIVED_LATENCY,
    BEHIND,
    SCHEDULED,
    BEGUN,
    MESSAGE_CYCLE,
    LOST,
    LAST_LOSS,
    OVERFLOWED,
    ARRIVED_HOPS,
    ARRIVED_PATHS,
    PATHS_SUM,
    COUNTS,
) = range(26)

# Entries of `State.settings`. LARGE is whether the arrays are larger than a processor's own caches, so that
# it pays to prefetch; TWO_DELAYS whether links between routers differ in their delays.
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
    LEAST_GAP,
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
    SETTINGS,
) = range(30)
BY_HOP, BY_CLASS, ANY_CHANNEL, RANDOM_CHANNEL = range(4)
MINIMAL_LAW, THRESHOLD_LAW, PRODUCT_LAW, BUCKET_LAW, PIGGYBACK_LAW = range(5)


class State(NamedTuple):
    """Arrays of a simulation; the columns of those of two dimensions are named above.

    Attributes:
        settings: int64, what does not change.
        counts: int64, measures and the present time.
        first_ports: (N + 1,): first port of each router.
        inputs: (ports, columns).
        outputs: (ports, columns).
        used: (ports,): flits that an output has sent and that still take room beyond.
        global_ports: (ports,): 1 if the output's link leads out of a cluster, else 0.
        queues: (queues, columns).
        hosts: (H, columns).
        packets: (most packets, columns).
        unused: packets that are not in use, a stack.
        random: (N,): states of the routers' generators.
        host_random: (H,): states of the hosts' generators.
        wheel: (ticks, columns); the lists go on in the next three arrays.
        next_packet: (most packets,): next packet of a list, or NONE.
        next_input: (ports,).
        next_output: (ports,).
        events: (ports,): those of a list, one after the other.
        source_wheel: (cycles,): first host to look at.
        next_host: (H,): next host to look at, or NONE.
        credits: (classes, places): queues in which room becomes free, a ring for each class of delay.
        credit_rings: (classes, columns).
        asked: outputs that are asked for in this tick.
        new_heads: queues whose head has not been routed.
        lookups: (layers * N * N,): choices; layers are named by settings.
        outcomes, adaptive, bundles, detours: forwarding tables.
        gaps: thresholds of 2^32: a gap is longer than `least + k` cycles if a random number is at least
            `gaps[k]`; a random number over all of them adds as many cycles and is drawn again.
        guide: (257, columns): first k to look at for a number's upper 8 bits, and quantiles of the part of a
            cycle by which a gap is longer (`simulation.sources.cycle_fractions`).
        shares: (shares, 2): cumulated share of a source's destinations up to this one, of 2^32, and the host.
        hot_hosts: hosts that receive the hot packets.
        schedule: (packets, 3): tick of birth, source and destination, in order of time (drop).
        latencies: packets by class of latency.
        hops: packets by links between routers.
        host_routers: (H,): router of each host.
        host_ports: (H,): port by which its router delivers to each host, or NONE.
        host_packets: (H,): packets that arrived at each host in the window.
        port_drops: (ports,): packets that were lost in the window in the queue of an output or on its link.
        buckets: (adaptive, buckets of a group): first outcome of each bucket, with DETOUR_BIT if a detour's;
            NONE if it is dead. (0, 0) where no law needs them.
        messages: (messages, columns): messages of an application; none where packets are drawn.
        successors: messages that wait for others.
        message_wheel: (cycles,): first message that is due.
        message_queues: (H, columns): messages of a host that may be sent.
        message_hosts: (H,): hosts whose first message has become ready in this cycle.
        packet_messages: (most packets,): message of a packet.
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
    asked: Int32
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
