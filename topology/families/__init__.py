"""Families of topologies, one module each, in a room for each group; graphs from files are here.

A family is a subclass of one of three classes, by the knowledge that it has of its shortest paths:

- `topology.shortest_paths.SearchedTopology`: none. The constructor hands the links to
  `adjacency_from_links` and the neighbour lists to `super().__init__`; search does the rest (Slim Fly).
- `topology.shortest_paths.TabledTopology`: a table of all pairs. It defines `adjacency` and `next_hop_table`
  (PolarStar).
- `topology.base.Topology`: a formula. It defines `adjacency`, `next_hops`, `distances` and
  `pairs_by_distance` (PolarFly).

Every family

- sets the class attribute `name`, its name on the command line;
- takes its parameters as keyword arguments of its constructor, under their keys, checks them, and raises
  `ParameterError`, which names the domain and the nearest valid values;
- sets `self.params` to the parameters that make the same graph again, with defaults filled in;
- numbers its routers 0 .. N - 1 in an order that its docstring gives, at most `MAX_ROUTERS` of them, and
  gives the same graph in every process;
- cites its source, with section and equation.

It may define `clusters` and `layout` (placements and drawings), `host_counts` (routers without hosts),
`address_number`, `destination_blocks` and `next_hop_rules` together (fewer rules by masks), and
`minimal_port_mask` (several minimal routes), and `link_classes` (the hosts that its links carry).

A family's module ends with its entry, `FAMILY`: constructor, parameters, summary, example and group
(`topology.families.family`); `members` of the entry yields the sizes by which `topology.families.nearest`
compares families. One line of `FAMILIES` in `topology/registry.py` registers it. The parameters
(`topology.parameters`) are its own: two families may have a `degree` of two meanings. Its reroute and
detours, if it has any of its own, are registered in `routing/`. `tests/unit/topology/test_registry.py` checks
this contract for the example of every family; its own tests pin sizes, degrees, diameter and mean distance to
published figures, as `tests/unit/topology/test_families.py` does.
"""
