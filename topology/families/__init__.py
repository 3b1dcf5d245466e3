"""Families of topologies, one module each, in one package per group; graphs from files are in this package.

A family is a subclass of one of three classes, depending on what is known about its shortest paths:

- `topology.shortest_paths.SearchedTopology`: nothing. The constructor passes the links to
  `adjacency_from_links` and the neighbour lists to `super().__init__`; search does the rest (Slim Fly).
- `topology.shortest_paths.TabledTopology`: a table of all pairs. It defines `adjacency` and `next_hop_table`
  (PolarStar).
- `topology.base.Topology`: a formula. It defines `adjacency`, `next_hops`, `distances` and
  `pairs_by_distance` (PolarFly).

Every family

- sets the class attribute `name`, its name on the command line;
- takes its parameters as keyword arguments of its constructor, named by their keys, checks them, and raises
  `ParameterError`, which names the domain and the nearest valid values;
- sets `self.params` to the parameters that reproduce the same graph, with defaults filled in;
- numbers its routers 0 .. N - 1 in an order given in its docstring, at most `MAX_ROUTERS` of them, and
  produces the same graph in every process;
- cites its source, with section and equation.

It may define `clusters` and `layout` (placements and drawings), `host_counts` (routers without hosts),
`address_number`, `destination_blocks` and `next_hop_rules` together (fewer rules by masks),
`minimal_port_mask` (several minimal routes), and `link_classes` (how many hosts its links support).

A family's module ends with its registry entry, `FAMILY`: constructor, parameters, summary, example and group
(`topology.families.family`); `members` yields the sizes by which `topology.families.nearest` compares
families. One line of `FAMILIES` in `topology/registry.py` registers it. The parameters
(`topology.parameters`) belong to the family: `degree` may mean different things in two families. Special
rerouting and detours of a family are registered in `routing/`. `tests/unit/topology/test_registry.py` checks
this contract for the example of every family; a family's own tests compare sizes, degrees, diameter and mean
distance with published figures, as in `tests/unit/topology/test_families.py`.
"""
