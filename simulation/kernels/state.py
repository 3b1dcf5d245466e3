"""Arrays of a simulation, in a named tuple that compiled code takes.

What belongs to one port, one queue, one host or one packet is a row of an array, so that it is read together.

Ports of a router are counted from 0: first those of its links, in the order of its ports, then those of its
hosts. A port is an input and an output. A queue is the buffer of one virtual channel of an input; its number
is `(input << channel_shift) + channel`.

Ticks are the internal steps of the routers, SPEEDUP of them a cycle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

NONE: Final = -1

# Columns of `State.packets`: destination host and its router, tag, links so far, birth (cycle), flags, next
# packet of a list, queue that it goes to.
HOST, ROUTER, TAG, HOPS, BIRTH, FLAGS, NEXT, QUEUE, PACKET_COLUMNS = range(9)
# Bits of FLAGS.
MEASURED: Final = 1
DETOURED: Final = 2
MARKED: Final = 4

# Columns of `State.places`, which do not change: router of a port, port at the other end of its link (-1 -
# host at a port of a host), cycles of the link, first port of the router, number of its ports, whether a host
# sends there, class of the delay of credits.
OWNER, PEER, DELAY, FIRST_PORT, PORT_COUNT, OF_HOST, CREDIT_CLASS, PLACE_COLUMNS = range(8)

# Columns of `State.ports`: ticks from which input and output are free, cycle from which the link is; flits
# sent that still take room beyond; channel and port that were granted last; tick in which the output was last
# asked for, queue that is to get it, and number of those that ask; first of the queues that wait for the
# output; heads of the input that do not wait; whether the input is in a slot of the wheel, and the next one
# there; the same of the output; flits that the output sent in the window.
(
    INPUT_FREE,
    OUTPUT_FREE,
    LINK_FREE,
    USED,
    INPUT_TURN,
    OUTPUT_TURN,
    ASKED,
    ASKING,
    ASKERS,
    BUSY,
    LIVE,
    PLANNED,
    FOLLOWING,
    RELEASED,
    NEXT_RELEASED,
    FLITS_SENT,
    PORT_COLUMNS,
) = range(17)

# Columns of `State.queues`: place of the head, packets in the queue, free flits as the sender knows them; the
# head's output and target queue; the next queue of the list in which the head waits, or FREE; first of the
# queues that wait for room in this one; then the packets, a ring. With the default buffers of eight packets a
# row is a line of the processor's cache.
(
    FIRST,
    COUNT,
    ROOM,
    OUTPUT,
    TARGET,
    NEXT_BLOCKED,
    SHORT,
    _UNUSED_COLUMN,
    PACKETS,
) = range(9)
FREE: Final = -2

# Columns of `State.wheel`, whose rows are ticks: first packet that arrives, input to look at, output that
# becomes free.
ARRIVALS, INPUTS, OUTPUTS, WHEEL_COLUMNS = range(4)

# Columns of `State.credit_rings`, whose rows are classes of delay: the delay in ticks, begin and end of the
# ring, then its end in each of the last ticks.
RING_DELAY, RING_BEGIN, RING_END, RING_ENDS = range(4)

# Columns of `State.hosts`: port and router, whether it is delivered to; kind of destinations, the only one
# (PARTNER), first and last of its shares (SHARES); birth of the next packet in 1/65,536 cycles, cycle (drop:
# tick) from which the link is free, channel of the last packet, whether the next packet waits for room, next
# host in the same slot of the wheel.
(
    HOST_PORT,
    HOST_ROUTER,
    IS_DELIVERED,
    KIND,
    PARTNER_HOST,
    FIRST_SHARE,
    LAST_SHARE,
    NEXT_BIRTH,
    HOST_FREE,
    LAST_CHANNEL,
    WAITING,
    NEXT_HOST,
    HOST_COLUMNS,
) = range(13)
IDLE, UNIFORM, PARTNER, SHARES, HOT = range(5)

# Columns of `State.outcomes`, `State.choices`, `State.adaptive`, `State.bundles` and `State.detours`; see
# `simulation.tables.model`.
OUT_PORT, OUT_TAG, OUT_MARK, OUT_WEIGHT, OUTCOME_COLUMNS = range(5)
CHOICE_START, CHOICE_WEIGHT, CHOICE_COLUMNS = range(3)
MINIMAL, MINIMAL_HOPS, BUNDLE_START, ADAPTIVE_COLUMNS = range(4)
BUNDLE_CHOICE, DETOUR_START, BUNDLE_COLUMNS = range(3)
DETOUR_CHOICE, DETOUR_HOPS, DETOUR_COLUMNS = range(3)

# Columns of `State.guide`.
FIRST_GAP, FRACTION = range(2)

# Entries of `State.counts`: present tick, unused packets, queues whose head has not been routed, tick of the
# last grant; begin and end of the window; packets born in the window, packets that arrived in it; of the
# packets born in it, those delivered, dropped, their latencies; then of all packets. At last hosts that may
# still send packets of the window, and whether sources have drawn their first births.
(
    TICK,
    UNUSED,
    NEW_HEADS,
    LAST_GRANT,
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
    COUNTS,
) = range(20)

# Entries of `State.settings`.
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
    PATIENCE,
    BUFFER,
    HOT_SHARE,
    FROM_HOST,
    UNTAGGED,
    TAGGED,
    MARKED_UNTAGGED,
    MARKED_TAGGED,
    BURST,
    WHOLE_PATH,
    SETTINGS,
) = range(25)
BY_HOP, BY_CLASS, ANY_CHANNEL, RANDOM_CHANNEL = range(4)
MINIMAL_LAW, THRESHOLD_LAW, PRODUCT_LAW = range(3)


class State(NamedTuple):
    """Arrays of a simulation; the columns of those of two dimensions are named above.

    Attributes:
        settings: int64, what does not change.
        counts: int64, measures and the present time.
        places: (ports, columns).
        ports: (ports, columns).
        queues: (queues, columns).
        hosts: (H, columns).
        packets: (most packets, columns).
        unused: packets that are not in use, a stack.
        random: (N,): states of the routers' generators.
        host_random: (H,): states of the hosts' generators.
        wheel: (ticks, columns).
        source_wheel: (cycles,): first host to look at.
        credits: (classes, places): queues in which room becomes free, a ring for each class of delay.
        credit_rings: (classes, columns).
        asked: outputs that are asked for in this tick.
        new_heads: queues whose head has not been routed.
        lookups: (layers, N, N): choices; layers are named by settings.
        outcomes, choices, adaptive, bundles, detours: forwarding tables.
        gaps: thresholds of 2^32: a gap is longer than `least + k` cycles if a random number is at least
            `gaps[k]`; a random number over all of them adds as many cycles and is drawn again.
        guide: (257, columns): first k to look at for a number's upper 8 bits, and quantiles of the part of a
            cycle by which a gap is longer (`simulation.sources.cycle_fractions`).
        shares: (shares, 2): cumulated share of a source's destinations up to this one, of 2^32, and the host.
        hot_hosts: hosts that receive the hot packets.
        schedule: (packets, 3): tick of birth, source and destination, in order of time (drop).
        latencies: packets by class of latency.
        hops: packets by links between routers.
        host_packets: (H,): packets that arrived at each host in the window.
    """

    settings: Int64
    counts: Int64
    places: Int32
    ports: Int32
    queues: Int32
    hosts: Int64
    packets: Int32
    unused: Int32
    random: Int64
    host_random: Int64
    wheel: Int32
    source_wheel: Int32
    credits: Int32
    credit_rings: Int64
    asked: Int32
    new_heads: Int32
    lookups: Int32
    outcomes: Int32
    choices: Int32
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
    host_packets: Int64
