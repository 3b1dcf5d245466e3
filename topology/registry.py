"""Registry of the topology families by command-line name: one line for each."""

from __future__ import annotations

from collections.abc import Iterator

from topology.base import Params, Topology
from topology.errors import ParameterError, UsageError
from topology.families.family import GROUPS, Family
from topology.files.escaping import quoted
from topology.parameters import hint, one_of
from topology.plugins import Call, Places, Registry, wrong_result


def _calls(name: str, entry: Family) -> Iterator[Call]:
    if entry.group not in GROUPS:
        raise ParameterError(f"group of {name} must be one of {', '.join(GROUPS)}, got {quoted(entry.group)}")
    if (own := getattr(entry.make, "name", name)) != name:
        raise ParameterError(f"attribute name of the topology {name} must be {name!r}, got {quoted(own)}")
    yield Call(entry.make, (), entry.parameters)


_OWN = {
    "polarfly": "topology.families.low_diameter.expanded_polarfly:FAMILY",
    "polarstar": "topology.families.low_diameter.polarstar:FAMILY",
    "slimfly": "topology.families.low_diameter.slimfly:FAMILY",
    "bundlefly": "topology.families.low_diameter.bundlefly:FAMILY",
    "spectralfly": "topology.families.low_diameter.spectralfly:FAMILY",
    "delorme": "topology.families.low_diameter.delorme:FAMILY",
    "dragonfly": "topology.families.dragonflies.dragonfly:FAMILY",
    "dragonfly3": "topology.families.dragonflies.dragonfly3:FAMILY",
    "fat-tree": "topology.families.hierarchical.fat_tree:FAMILY",
    "megafly": "topology.families.hierarchical.megafly:FAMILY",
    "orthogonal-fat-tree": "topology.families.hierarchical.orthogonal_fat_tree:FAMILY",
    "multi-layer-full-mesh": "topology.families.hierarchical.multi_layer_full_mesh:FAMILY",
    "tree": "topology.families.hierarchical.tree:FAMILY",
    "hyperx": "topology.families.classic.hyperx:FAMILY",
    "torus": "topology.families.classic.torus:FAMILY",
    "hypercube": "topology.families.classic.hypercube:FAMILY",
    "long-hop": "topology.families.classic.long_hop:FAMILY",
    "jellyfish": "topology.families.random.jellyfish:FAMILY",
    "xpander": "topology.families.random.xpander:FAMILY",
    "dln": "topology.families.random.dln:FAMILY",
    "graph": "topology.families.graph_file:FAMILY",
}
_FILES = (".graphml", ".xml", ".adjlist", ".edges", ".edgelist", ".txt", ".csv", ".gml")
FAMILIES = Registry("topologies", "topology", Family, Places[Family](_OWN), _calls)


def family(name: str) -> Family:
    """Returns the family with the given name.

    Args:
        name: the name of a family on the command line, such as `polarfly`.

    Returns:
        The family's entry in the registry.

    Raises:
        UsageError: the name is unknown; the message lists all names.
    """
    refuse_file(name)
    if name not in FAMILIES:
        names = ", ".join(sorted(FAMILIES))
        raise UsageError(f"topology must be one of {names}, got {quoted(name)}{hint(name, FAMILIES)}")
    return FAMILIES[name]


def refuse_file(name: str) -> None:
    """Raises UsageError if a family's name looks like a file; the message says how to use a graph's file."""
    if "/" in name or name.lower().endswith(_FILES):
        raise UsageError(
            f"topology must be a family, got {quoted(name)}; for a graph's file, give the family graph and "
            "the file as --from"
        )


def make_topology(name: str, params: Params) -> Topology:
    """Returns the member of a family with the given parameters.

    Args:
        name: the name of a family on the command line, such as `polarfly`.
        params: the values of its parameters by key, such as `{"q": 7}`.

    Returns:
        The topology.

    Raises:
        UsageError: the name is unknown.
        ParameterError: a required parameter is missing, a parameter does not exist in this family, or a value
            is outside its domain.

    Examples:
        >>> make_topology("polarfly", {"q": 3})
        <polarfly q=3: 13 routers, 24 links>
    """
    chosen = family(name)
    by_key = {parameter.key: parameter for parameter in chosen.parameters}
    required = {parameter.key for parameter in chosen.parameters if parameter.required}
    if foreign := sorted(params.keys() - by_key.keys()):
        options = one_of(f"--{parameter.name}" for parameter in chosen.parameters)
        raise ParameterError(
            f"parameter of {name} must be {options}, got --{foreign[0].replace('_', '-')}"
            f"{hint(foreign[0], by_key) or f'; as in: {chosen.example}'}"
        )
    if missing := sorted(required - params.keys()):
        raise ParameterError(f"{name} needs --{by_key[missing[0]].name}, as in: {chosen.example}")
    made = chosen.make(**{key: by_key[key].check(value) for key, value in params.items()})
    if not isinstance(made, Topology):
        raise wrong_result(chosen.make, made, "a Topology")
    return made
