"""Compares routings that are deadlock-free with one virtual channel to routings that need one per hop.

The networks have about the same cost per endpoint, in router ports, and about the same number of endpoints.
The buffer of a port has the same size for all routings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.papers.beyond.measures import all_complete, measure_columns, saturating_loads
from experiments.papers.beyond.members import NetworkWithHosts
from experiments.papers.model import BarChart, ItemResult, Row, Scale
from experiments.papers.networks import Network, network
from experiments.papers.performance.model import Curve, MeasuredCurves, divided_port, simulated
from experiments.papers.performance.series import RANDOM, UNIFORM, curves_of
from experiments.papers.polarfly.performance import TORNADO
from experiments.papers.polarstar.performance import ADVERSARIAL
from experiments.spec.fabric import FabricOptions
from simulation.settings import RouterSettings
from topology.parameters import Value as Parameter

_WORST = "worst-case"
PLOT = BarChart(
    ("network", "routing", "channels"),
    {
        "uniform": "saturation, uniform",
        "adversarial": "saturation, adversarial",
        "cost": "ports per endpoint",
        "price": "$ per endpoint",
    },
    group="family",
)


@dataclass(frozen=True)
class Contest:
    """A network on which routings that need one virtual channel compete with routings that need one per hop.

    Attributes:
        network: the network.
        hosts: endpoints at each router that has any.
        adversarial: name of the pattern: the family's worst case, or a permutation.
        free: names of routings whose channel dependencies are acyclic with one virtual channel.
        by_hop: (name, hops of its longest path) for each routing that needs one virtual channel per hop.
    """

    network: Network
    hosts: int
    adversarial: str
    free: Sequence[str]
    by_hop: tuple[tuple[str, int], ...]

    @property
    def with_hosts(self) -> NetworkWithHosts:
        """The network with its endpoints."""
        return NetworkWithHosts(self.network, self.hosts)

    def fabrics(self) -> dict[str, FabricOptions]:
        """Returns label of a curve -> the network with a routing; all have the same buffer per port."""
        routings = [(routing, divided_port(1, policy="any")) for routing in self.free]
        routings += [(routing, divided_port(hops)) for routing, hops in self.by_hop]
        return {
            f"{self.network.label}-{routing} ({channels_of(routers)})": simulated(
                self.network, self.hosts, routing, routers
            )
            for routing, routers in routings
        }


def channels_of(routers: RouterSettings) -> str:
    """Describes the virtual channels of routers in words for a curve's label, such as `4 by hop`.

    Args:
        routers: settings of routers and links.
    """
    return "1 channel" if routers.channels == 1 else f"{routers.channels} by hop"


def _contest(
    label: str, hosts: int, adversarial: str, free: str, by_hop: dict[str, int], **params: Parameter
) -> Contest:
    """Returns a contest on a network of the family that the label's first word names.

    Args:
        label: label of the network.
        hosts: endpoints at each router that has any.
        adversarial: name of the adversarial pattern.
        free: space-separated names of routings that are deadlock-free with one virtual channel.
        by_hop: name of each other routing -> hops of its longest path.
        params: parameters of the network.
    """
    return Contest(
        network(label, label.partition(" ")[0], **params),
        hosts,
        adversarial,
        tuple(free.split()),
        tuple(by_hop.items()),
    )


def _two(minimal: str, adaptive: str, hops: int) -> dict[str, int]:
    """Returns routing -> hops of its longest path: `hops`, or twice that for the adaptive routing."""
    return {minimal: hops, adaptive: 2 * hops}


_DF, _UGAL_DF = "hierarchical", "ugal:over=hierarchical"
_COLOURED = "four-color:order=own four-color-adaptive:order=own"
# Each network has about 3 router ports per endpoint: the endpoint's own port, and its share of the ports of
# links. Families that are missing here have no member of about this cost and size.
_QUICK = (
    _contest("polarfly 5", 3, _WORST, "up-down", _two("min", "ugal-pf", 2), q=5),
    _contest("slimfly 4", 3, _WORST, "up-down", _two("min", "ugal", 2), q=4),
    _contest("polarstar 2/paley/2", 3, ADVERSARIAL, "up-down", _two("min", "ugal", 3), q=2,
             supernode="paley", degree=2),
    _contest("dragonfly 4/3/7 t=2", 3, "adv", "two-color:order=own", _two(_DF, _UGAL_DF, 3), a=4, h=3,
             groups=7, trunking=2),
    _contest("hyperx 5x5", 4, TORNADO, "dor", _two("min", "ugal", 2), shape="5x5"),
    _contest("hypercube 5", 3, RANDOM, "dor", _two("min", "ugal", 5), dimension=5),
    _contest("torus 7x7", 2, RANDOM, "up-down", {"dor": 6}, shape="7x7"),
    _contest("fat-tree 4/3", 8, RANDOM, "nca", {"nca": 4}, arity=4, levels=3),
    _contest("megafly 2/6", 4, "adv", "nca", {"nca": 3}, rho=2, a=6),
    _contest("orthogonal-fat-tree 3", 4, RANDOM, "nca", {"nca": 2, "ugal": 6}, q=3),
    _contest("multi-layer-full-mesh 4", 4, RANDOM, "nca", {"nca": 2, "ugal": 8}, h=4),
    _contest("long-hop 4/4", 4, RANDOM, "up-down", _two("min", "ugal", 2), dimension=4, distance=4),
    _contest("jellyfish 31/6", 3, RANDOM, "up-down", _two("min", "ugal", 3), routers=31, degree=6),
    _contest("xpander 6/6", 3, RANDOM, "up-down", _two("min", "ugal", 4), degree=6, lift=6),
    _contest("dln 31/4", 3, RANDOM, "up-down", _two("min", "ugal", 3), routers=31, shortcuts=4),
)  # fmt: skip
_FULL = (
    _contest("polarfly 9", 5, _WORST, "up-down", _two("min", "ugal-pf", 2), q=9),
    _contest("slimfly 7", 5, _WORST, "up-down", _two("min", "ugal", 2), q=7),
    _contest("polarstar 3/iq/4", 4, ADVERSARIAL, "up-down", _two("min", "ugal", 3), q=3, supernode="iq",
             degree=4),
    _contest("dragonfly 8/4/9 t=4", 6, "adv", _COLOURED, _two(_DF, _UGAL_DF, 3), a=8, h=4, groups=9,
             trunking=4),
    _contest("hyperx 8x8", 7, TORNADO, "dor", _two("min", "ugal", 2), shape="8x8"),
    _contest("hypercube 7", 4, RANDOM, "dor", _two("min", "ugal", 7), dimension=7),
    _contest("torus 6x5x5", 3, RANDOM, "up-down", {"dor": 7}, shape="6x5x5"),
    _contest("fat-tree 6/3", 12, RANDOM, "nca", {"nca": 4}, arity=6, levels=3),
    _contest("megafly 4/8", 6, "adv", "nca", {"nca": 3}, rho=4, a=8),
    _contest("bundlefly 3/2", 4, ADVERSARIAL, "up-down", _two("min", "ugal", 3), q=3, degree=2),
    _contest("dragonfly3 3/1/1", 2, ADVERSARIAL, "up-down", _two("min", "ugal", 7), a=3, h2=1, h3=1),
    _contest("orthogonal-fat-tree 5", 6, RANDOM, "nca", {"nca": 2, "ugal": 6}, q=5),
    _contest("multi-layer-full-mesh 7", 7, RANDOM, "nca", {"nca": 2, "ugal": 8}, h=7),
    _contest("long-hop 6/5", 7, RANDOM, "up-down", _two("min", "ugal", 3), dimension=6, distance=5),
    _contest("jellyfish 91/10", 5, RANDOM, "up-down", _two("min", "ugal", 3), routers=91, degree=10),
    _contest("xpander 10/10", 5, RANDOM, "up-down", _two("min", "ugal", 3), degree=10, lift=10),
    _contest("dln 91/8", 5, RANDOM, "up-down", _two("min", "ugal", 3), routers=91, shortcuts=8),
)  # fmt: skip


def contests(scale: Scale) -> tuple[Contest, ...]:
    """Returns the networks that are compared, one of each family.

    Args:
        scale: the scale.
    """
    return _QUICK if scale.quick else _FULL


def deadlock_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of all networks under uniform traffic and under their adversarial pattern.

    Args:
        scale: the scale.
    """
    loads = saturating_loads(scale)
    return [
        curve
        for contest in contests(scale)
        for curve in curves_of(contest.fabrics(), (UNIFORM, contest.adversarial), loads)
    ]


def deadlock_free(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns the saturation of each network with each routing.

    Args:
        curves: the curves with their points.
        scale: the scale.
    """
    rows: list[Row] = []
    loads = saturating_loads(scale)
    for contest in contests(scale):
        graph = contest.network.graph()
        for label, fabric in contest.fabrics().items():
            both = [curves[Curve(label, fabric, one, loads)] for one in (UNIFORM, contest.adversarial)]
            if not all_complete(*both):
                continue
            rows.append(
                {
                    "family": contest.network.family,
                    "network": contest.network.label,
                    "routers": graph.routers,
                    "endpoints": contest.with_hosts.endpoints,
                    "ports": contest.with_hosts.ports,
                    "cost": contest.with_hosts.cost,
                    "price": round(contest.with_hosts.price, 2),
                    "routing": fabric.routing,
                    "channels": channels_of(fabric.routers),
                    "buffer_flits": fabric.routers.buffer_flits,
                    "pattern": contest.adversarial,
                    **measure_columns("uniform", both[0].saturation),
                    **measure_columns("adversarial", both[1].saturation),
                    "deadlock": any(point.deadlock for found in both for point in found.points),
                }
            )
    return ItemResult({}, rows)
