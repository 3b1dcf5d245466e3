"""Forwarding tables as arrays of the kernel, laid out so that routing a packet takes few memory accesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulation.arrays.ports import link_ports, ports_of_hosts
from simulation.kernels import state as const
from simulation.kernels.state import NONE, Int32, Int64, State
from simulation.tables.model import ForwardingTables

_LAYERS = {
    const.FROM_HOST: "from_host",
    const.UNTAGGED: "untagged",
    const.TAGGED: "tagged",
    const.AFTER_TAG: "after_tag",
    const.MARKED_UNTAGGED: "marked",
    const.MARKED_TAGGED: "marked_tagged",
}


def forwarding_arrays(tables: ForwardingTables, settings: Int64) -> dict[str, Any]:
    """Returns the arrays of forwarding tables by name in `State`.

    Args:
        tables: forwarding tables.
        settings: `State.settings`; the indices of the lookup layers are written to it.
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


def replace_tables(network: State, tables: ForwardingTables) -> State:
    """Returns a network whose routers have new tables; its packets stay where they are.

    Args:
        network: the network; the result shares its other arrays.
        tables: new tables for the same routers.
    """
    ports = ports_of_hosts(network.inputs, network.outputs)
    network.host_ports[:] = np.where(tables.delivered, ports, NONE)
    return network._replace(**forwarding_arrays(tables, network.settings))


def _lookups(tables: ForwardingTables, settings: Int64, first: Int32) -> Int32:
    """Returns all distinct lookup layers concatenated, and writes their indices to the settings."""
    settings[const.ROUTERS] = tables.routers
    layers: list[Int32] = []
    for setting, name in _LAYERS.items():
        one: Int32 = getattr(tables, name)
        if not one.size:
            settings[setting] = settings[const.UNTAGGED]  # for AFTER_TAG; packets of other kinds do not occur
            continue
        same = [number for number, other in enumerate(layers) if np.array_equal(one, other)]
        settings[setting] = same[0] if same else len(layers)
        if not same:
            layers.append(one)
    return np.concatenate([np.where(one < NONE, one, first[one]).ravel() for one in layers])


def first_outcomes(tables: ForwardingTables) -> Int32:
    """Returns the first outcome of each choice, or NONE if it has no outcomes.

    Args:
        tables: forwarding tables.

    Returns:
        int32 array, (choices + 1,); the last entry, for NO_CHOICE, is NONE.
    """
    starts = tables.choices.starts
    return np.append(np.where(np.diff(starts) > 0, starts[:-1], NONE), NONE).astype(np.int32)


def _outcomes(tables: ForwardingTables) -> tuple[Int32, Int32]:
    """Returns the first outcome of each choice, and `State.outcomes`."""
    choices = tables.choices
    of_link = np.append(link_ports(tables), NONE)
    counts = np.diff(choices.starts)
    sums = np.concatenate([[0], np.cumsum(choices.weights)])
    outcomes = np.zeros((len(choices.links), const.OUTCOME_COLUMNS), np.int32)
    outcomes[:, const.OUT_PORT] = of_link[choices.links]
    outcomes[:, const.OUT_TAG] = choices.tags
    outcomes[:, const.OUT_MARK] = choices.marks
    outcomes[:, const.OUT_WEIGHT] = choices.weights
    outcomes[:, const.OUT_COUNT] = np.repeat(counts, counts)
    outcomes[:, const.OUT_WEIGHTS] = np.repeat(np.diff(sums[choices.starts]), counts)
    return first_outcomes(tables), outcomes


def _adaptive(tables: ForwardingTables, first: Int32) -> tuple[Int32, Int32, Int32]:
    """Returns `State.adaptive`, `State.bundles` without BUNDLE_PORT, and `State.detours`."""
    one = tables.adaptive
    adaptive = np.zeros((len(one.bundle_starts), const.ADAPTIVE_COLUMNS), np.int32)
    adaptive[:-1, const.MINIMAL] = first[one.minimal]
    adaptive[:-1, const.MINIMAL_HOPS] = one.minimal_hops
    adaptive[:, const.BUNDLE_START] = one.bundle_starts
    bundles = np.zeros((len(one.bundle_choices) + 1, const.BUNDLE_COLUMNS), np.int32)
    bundles[:-1, const.BUNDLE_CHOICE] = first[one.bundle_choices]
    bundles[:-1, const.DETOUR_START] = one.bundle_detours
    bundles[1:, const.DETOURS_BEFORE] = np.cumsum(one.bundle_sizes)
    return adaptive, bundles, np.stack((first[one.detours], one.detour_hops), axis=1).astype(np.int32)


def _with_ports(bundles: Int32, outcomes: Int32) -> Int32:
    """Fills the column BUNDLE_PORT: the output that all detours of a bundle use; NONE if they differ."""
    bundles[:, const.BUNDLE_PORT] = NONE
    choices = bundles[:-1, const.BUNDLE_CHOICE]
    if len(choices):
        single_port = (choices != NONE) & (outcomes[choices, const.OUT_COUNT] == 1)
        bundles[:-1, const.BUNDLE_PORT] = np.where(single_port, outcomes[choices, const.OUT_PORT], NONE)
    return bundles
