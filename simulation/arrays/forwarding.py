"""Forwarding tables as arrays of the kernel, which read with few accesses what a packet needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulation.arrays.ports import link_ports, ports_of_hosts
from simulation.kernels import state as of
from simulation.kernels.state import NONE, Int32, Int64, State
from simulation.tables.model import ForwardingTables

_LAYERS = {
    of.FROM_HOST: "from_host",
    of.UNTAGGED: "untagged",
    of.TAGGED: "tagged",
    of.AFTER_TAG: "after_tag",
    of.MARKED_UNTAGGED: "marked",
    of.MARKED_TAGGED: "marked_tagged",
}


def forwarding_arrays(tables: ForwardingTables, settings: Int64) -> dict[str, Any]:
    """Returns the arrays of forwarding tables by their names in `State`.

    Args:
        tables: forwarding tables.
        settings: `State.settings`, which get the numbers of the look-up arrays.
    """
    first, outcomes = _outcomes(tables)
    adaptive, bundles, detours = _adaptive(tables, first)
    return {
        "lookups": _lookups(tables, settings, first),
        "outcomes": outcomes,
        "adaptive": adaptive,
        "bundles": _with_ports(bundles, outcomes),
        "detours": detours,
    }


def take_tables(network: State, tables: ForwardingTables) -> State:
    """Returns a network whose routers have other tables; its packets stay where they are.

    Args:
        network: the network, whose arrays that do not belong to tables are shared.
        tables: other tables for the same routers.
    """
    ports = ports_of_hosts(network.inputs, network.outputs)
    network.host_ports[:] = np.where(tables.delivered, ports, NONE)
    return network._replace(**forwarding_arrays(tables, network.settings))


def _lookups(tables: ForwardingTables, settings: Int64, first: Int32) -> Int32:
    """Returns the different look-up arrays one after the other, and writes their numbers to the settings."""
    settings[of.ROUTERS] = tables.routers
    layers: list[Int32] = []
    for setting, name in _LAYERS.items():
        one: Int32 = getattr(tables, name)
        if not one.size:
            settings[setting] = settings[of.UNTAGGED]  # that of AFTER_TAG; other packets do not exist
            continue
        same = [number for number, other in enumerate(layers) if np.array_equal(one, other)]
        settings[setting] = same[0] if same else len(layers)
        if not same:
            layers.append(one)
    return np.concatenate([np.where(one < NONE, one, first[one]).ravel() for one in layers])


def first_outcomes(tables: ForwardingTables) -> Int32:
    """Returns the first outcome of each choice, or NONE if it has none; at last, for NO_CHOICE, NONE.

    Args:
        tables: forwarding tables.

    Returns:
        int32 array, (choices + 1,).
    """
    starts = tables.choices.starts
    return np.append(np.where(np.diff(starts) > 0, starts[:-1], NONE), NONE).astype(np.int32)


def _outcomes(tables: ForwardingTables) -> tuple[Int32, Int32]:
    """Returns the first outcome of each choice, and `State.outcomes`."""
    choices = tables.choices
    of_link = np.append(link_ports(tables), NONE)
    counts = np.diff(choices.starts)
    sums = np.concatenate([[0], np.cumsum(choices.weights)])
    outcomes = np.zeros((len(choices.links), of.OUTCOME_COLUMNS), np.int32)
    outcomes[:, of.OUT_PORT] = of_link[choices.links]
    outcomes[:, of.OUT_TAG] = choices.tags
    outcomes[:, of.OUT_MARK] = choices.marks
    outcomes[:, of.OUT_WEIGHT] = choices.weights
    outcomes[:, of.OUT_COUNT] = np.repeat(counts, counts)
    outcomes[:, of.OUT_WEIGHTS] = np.repeat(np.diff(sums[choices.starts]), counts)
    return first_outcomes(tables), outcomes


def _adaptive(tables: ForwardingTables, first: Int32) -> tuple[Int32, Int32, Int32]:
    """Returns `State.adaptive`, `State.bundles` without their ports, and `State.detours`."""
    one = tables.adaptive
    adaptive = np.zeros((len(one.bundle_starts), of.ADAPTIVE_COLUMNS), np.int32)
    adaptive[:-1, of.MINIMAL] = first[one.minimal]
    adaptive[:-1, of.MINIMAL_HOPS] = one.minimal_hops
    adaptive[:, of.BUNDLE_START] = one.bundle_starts
    bundles = np.zeros((len(one.bundle_choices) + 1, of.BUNDLE_COLUMNS), np.int32)
    bundles[:-1, of.BUNDLE_CHOICE] = first[one.bundle_choices]
    bundles[:-1, of.DETOUR_START] = one.bundle_detours
    bundles[1:, of.DETOURS_BEFORE] = np.cumsum(one.bundle_sizes)
    return adaptive, bundles, np.stack((first[one.detours], one.detour_hops), axis=1).astype(np.int32)


def _with_ports(bundles: Int32, outcomes: Int32) -> Int32:
    """Returns bundles with the port of those whose detours all leave by one, NONE for the others."""
    bundles[:, of.BUNDLE_PORT] = NONE
    choices = bundles[:-1, of.BUNDLE_CHOICE]
    if len(choices):
        alone = (choices != NONE) & (outcomes[choices, of.OUT_COUNT] == 1)
        bundles[:-1, of.BUNDLE_PORT] = np.where(alone, outcomes[choices, of.OUT_PORT], NONE)
    return bundles
