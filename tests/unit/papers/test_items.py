"""Computed items of papers: their values agree with the claims, or with the findings about them."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from experiments.papers.claims import PAPERS, claims_of, claims_of_item
from experiments.papers.dragonfly.sizes import largest_endpoints
from experiments.papers.findings import finding_on, findings, outcome
from experiments.papers.links import Failures
from experiments.papers.model import Item, Scale, Value
from experiments.papers.polarstar.bisections import known_share, paired_halves, paired_row
from experiments.papers.registry import ITEMS
from experiments.papers.reproduction import checked
from experiments.papers.sizes import prime_powers_below
from topology.analysis.bisection import cut_links, is_halved, link_weights
from topology.families.low_diameter.polarstar_designs import Design
from topology.families.low_diameter.supernodes import make_supernode
from topology.finite_fields.prime_powers import prime_power
from topology.registry import make_topology

# Items of many or large graphs; those that take over two seconds even so are in `make test-all`.
SLOW = {
    *(("polarfly", item) for item in ("fig12", "fig14", "table4")),
    *(("polarstar", item) for item in ("fig12", "fig13", "fig14")),
    *(("slimfly", item) for item in ("fig1", "fig5c", "table3", "sec3d", "sec4d")),
}
COMPUTED = [
    pytest.param(paper, item, marks=pytest.mark.slow if (paper, item) in SLOW else (), id=f"{paper} {item}")
    for paper in PAPERS
    for item, computed in ITEMS[paper].items()
    if isinstance(computed, Item)
]


@pytest.mark.parametrize(("paper", "item"), COMPUTED)
def test_every_computed_claim_agrees_or_has_a_finding(paper, item):
    found = ITEMS[paper][item].compute(Scale(quick=True))
    claims = claims_of_item(paper, item)
    assert found.values.keys() <= {claim.key for claim in claims}
    for claim in claims:
        if claim.key in found.values:
            value = found.values[claim.key]
            one = checked(claim, value if isinstance(value, Value) else Value(value))
            assert not one.unexplained, one
        else:
            assert checked(claim, None).note.startswith("not computed")
    columns = set(found.rows[0])
    assert all(set(row) == columns for row in found.rows)
    plot = ITEMS[paper][item].plot
    assert plot is None or {plot.x, plot.y, *filter(None, [plot.by])} <= columns


def test_findings_are_about_claims_and_have_evidence():
    keys = {(claim.paper, claim.item, claim.key) for paper in PAPERS for claim in claims_of(paper)}
    for one in findings():
        assert (one.paper, one.item, one.key) in keys
        assert one.note
        assert one.evidence


def test_paths_of_er_7_are_those_that_were_counted_by_a_separate_program():
    """Exhaustive counts for q = 5 and 7: q + 1, q, q - 1; (q - 1)^2, q^2 - q - 2 and q^2 - q at quadrics."""
    values = ITEMS["polarfly"]["table6"].compute(Scale()).values
    keys = ("3 no quadric", "3 one quadric", "3 both quadrics", "4 W-W", "4 W-V1", "4 W-V2", "4 V1-V1")
    assert [values[key] for key in keys] == [8, 7, 6, 36, 40, 42, 45]


def test_a_finding_is_of_its_claim_and_of_its_number_alone():
    claims = {(one.item, one.key): one for one in claims_of("polarfly")}
    counted, other = claims["table6", "3 no quadric"], claims["table6", "3 both quadrics"]
    assert finding_on(counted, 8.0).kind == "reading"
    assert finding_on(counted, 9.0) is None
    assert finding_on(other, 8.0) is None
    measured = claims["fig8", "permutations"]
    assert finding_on(measured, 0.57) is finding_on(measured, 0.55)
    assert finding_on(measured, 0.3) is None
    assert outcome(measured, 0.3, within=False) == "unexplained"


@pytest.mark.parametrize("copies", [1, 2, 6])
def test_copies_of_clusters_have_the_degree_and_the_distances_of_section_vi_b(copies):
    """PolarFly, section VI-B, by a search of our own over q = 7."""
    begin = make_topology("polarfly", {"q": 7})
    grown = make_topology("polarfly", {"q": 7, "expand": f"nonquadric:{copies}"})
    graph = nx.Graph((link.a, link.b) for link in grown.link_list)
    members = grown.clusters().members
    copy_of = {frozenset(fan): set(copy) for fan, copy in zip(members, members[7:], strict=False)}
    assert graph.number_of_nodes() == begin.routers + copies * 7
    assert max(degree for _, degree in graph.degree) == 8 + copies + 1
    assert nx.average_shortest_path_length(graph) < 2
    far = {
        router: {other for other, hops in found.items() if hops > 2}
        for router, found in nx.all_pairs_shortest_path_length(graph)
    }
    for fan, copy in copy_of.items():
        assert any(far[router] for router in fan)
        assert all(far.pop(router) <= copy for router in fan)
        assert all(far.pop(router) <= fan for router in copy)
    assert not any(far.values())


def test_paths_of_er_7_agree_with_all_of_table_vi_by_one_reading():
    rows = ITEMS["polarfly"]["table6"].compute(Scale()).rows
    stated = {claim.key: claim.value for claim in claims_of_item("polarfly", "table6")}
    assert {row["pairs"]: row["by_reading"] for row in rows} == stated


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9])
def test_er_q_has_property_r_of_polarstar(q):
    """PolarStar, section 6.1.2: walks of two steps join any two routers, if loops of quadrics count."""
    graph = make_topology("polarfly", {"q": q})
    step = graph.dot(np.arange(graph.routers)[:, None], np.arange(graph.routers)) == 0
    assert (step @ step).all()
    without = step & ~np.eye(graph.routers, dtype=bool)
    assert not (without @ without).all()


def test_growths_are_of_the_share_that_is_asked_for():
    rows = [
        {"network": name, "failed": failed, "diameter": diameter, "average_path_length": path}
        for name, failed, diameter, path in (
            *(("A", 0.0, 2, 1.5), ("A", 0.4, 4, 2.25), ("A", 0.45, 9, 7.0)),
            *(("B", 0.0, 3, 2.0), ("B", 0.4, 5, 2.5)),
        )
    ]
    found = Failures({}, rows)
    assert found.growth("A", 0.4) == (2, 0.75)
    assert found.growth("B", 0.4) == (2, 0.5)


def test_halves_that_cut_no_link_between_supernodes_of_polarstar():
    """The counterexample to the order of bisections in the PolarStar paper's Fig 12."""
    graph = make_topology("polarstar", {"q": 11, "supernode": "iq", "degree": 3})
    side = np.isin(np.arange(graph.routers) % 8, [0, 1, 4, 5])
    assert is_halved(side)
    assert (cut_links(link_weights(graph), side), graph.links) == (1064, 7980)
    between = [link for link in graph.link_list if link.a // 8 != link.b // 8]
    assert not any(side[link.a] != side[link.b] for link in between)


def test_halves_of_polarstar_that_cut_no_link_between_supernodes():
    """All halves of the four pairs of an Inductive-Quad of degree 3, in the graph of ER_3."""
    graph = make_topology("polarstar", {"q": 3, "supernode": "iq", "degree": 3})
    vertex, weights = np.arange(graph.routers) % 8 % 4, link_weights(graph)  # x and f(x) are 4 apart
    least = min(cut_links(weights, np.isin(vertex, pair)) for pair in combinations(range(4), 2))
    found = paired_halves(make_supernode("iq", 3))
    assert (13 * found.cut, found.halves) == (least, (2, 2))


def test_the_bisection_of_polarstar_s_table_3_is_that_of_halves_of_pairs():
    row = paired_row(Design(11, "iq", 3))
    assert (row["radix"], row["links"], row["cut"], row["halves"]) == (15, 7980, 1064, "532/532")
    assert paired_row(Design(11, "iq", 4)) is None


def test_the_least_known_share_of_a_polarstar_counts():
    found, paired = {"radix": 15, "share": 0.2}, {"radix": 15, "share": 0.13}
    assert known_share(found, {15: paired}) == known_share(paired, {15: found}) == 0.13
    assert known_share(found, {16: paired}) == 0.2


def test_bisections_of_families_of_diameter_3_are_of_one_network_of_each_radix():
    rows = ITEMS["polarstar"]["fig12"].compute(Scale(quick=True)).rows
    sizes = {(row["family"], row["radix"]): (row["routers"], row["links"]) for row in rows}
    assert len(sizes) == len(rows)
    # By formulas: ER_9 times 8 routers, as many of a random graph; LPS(11, 7); a = 6, h = 3; 5 x 5 x 4.
    assert sizes["PolarStar", 12] == sizes["Jellyfish", 12] == (584, 3504)
    assert sizes["Spectralfly", 12] == (168, 1008)
    assert sizes["Bundlefly", 11] == (2 * 5 * 5 * 9, 225 * 11)
    assert sizes["Dragonfly", 8] == (6 * 19, 114 * 4)
    assert sizes["3-D HyperX", 11] == (100, 550)
    assert sizes["Megafly", 8] == (8 * 17, 17 * 4 * 4 + 17 * 16 // 2)
    # HyperX halved across an even side of n routers: n^2 / 4 links for each of the lines along it.
    [share] = [row["share"] for row in rows if (row["family"], row["radix"]) == ("3-D HyperX", 9)]
    assert share == pytest.approx(4 * 16 / (64 * 9 / 2))


def test_sizes_of_polarstar_s_abstract():
    """Geometric means over radix 8 to 128: 1.9 of Dragonfly and 6.7 of 3-D HyperX, by formulas alone."""
    values = ITEMS["polarstar"]["fig1"].compute(Scale()).values
    assert values["over dragonfly"] == pytest.approx(1.9, abs=0.02)
    assert values["over hyperx"] == pytest.approx(6.7, abs=0.05)


def test_sizes_of_slim_fly_s_section_on_the_moore_bound():
    values = ITEMS["slimfly"]["fig5b"].compute(Scale()).values
    assert [round(values[name], 2) for name in ("delorme", "bdf", "dragonfly")] == [0.68, 0.29, 0.15]


@pytest.mark.parametrize("limit", [2, 3, 10, 1100])
def test_prime_powers_are_those_of_single_numbers(limit):
    assert prime_powers_below(limit) == [n for n in range(2, limit) if prime_power(n)]


def test_sizes_of_dragonflies_and_hamming_graphs_are_those_of_the_formulas():
    """Canonical dragonflies, that of the dragonfly paper's Table II, Hamming graphs of k routers a side."""
    largest = largest_endpoints(49)
    for h in (1, 2, 3, 4):
        assert largest["dragonfly, t = 1"][max(4 * h - 1, 4)] >= 4 * h**4 + 2 * h**2
    assert largest["dragonfly, t = 1"][15] == 1056
    assert largest["dragonfly, t = 4"][49] == 24648
    for k in (3, 5, 9, 12):
        assert largest["Hamming graph of 2 dimensions (t = a)"][3 * k - 2] == k**3
        assert largest["Hamming graph of 3 dimensions"][4 * k - 3] == k**4
