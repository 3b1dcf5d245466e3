"""The controller process: compiles a plan, proves it, listens for switches, and installs the plan on them.

    python -m controller.service polarfly q=7 --routing min --listen unix:/run/polarlab/controller

Reports (`controller.reports`) go to standard output, one JSON object per line, and logs to standard error.
For an adaptive routing, the controller reads the queues whose descriptors its parent passes; if it gets the
link rate instead, it polls the switches' port statistics. The exit status is one of `topology.errors`: 1 if
the plan fails its proof; nothing is installed then.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import ipaddress
import logging
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controller import pulse
from controller.adaptation_loop import AdaptiveLoop, step_s
from controller.installer import Installer
from controller.occupancy.port_statistics import PortStatisticsOccupancy
from controller.occupancy.queue_handoff import AdaptationRequest, Queues, receive_queues, requested_adaptation
from controller.occupancy.source import NetlinkOccupancy, OccupancySource
from controller.openflow import frameworks
from controller.openflow.runtime import Endpoint, Run
from controller.replanner import Replanner
from controller.reports import Fatal, Listening, Planned, Proven, die, report
from controller.requests import requested_drain
from routing.plan.digest import plan_digest
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from routing.verification.verifier import Prover
from topology.addressing import dpid, switch_router
from topology.base import Topology
from topology.drains import Drain, drain_named
from topology.errors import NegativeResult, ParameterError, Status, UsageError, internal_text, known_status
from topology.files.inheritance import inherited
from topology.files.plugin_files import receive
from topology.parameters import Value, hint, one_of
from topology.registry import family, make_topology

DEFAULT_LISTEN = "tcp:127.0.0.1:6653"


@dataclass(frozen=True)
class ListenAddress:
    """An address to which switches connect.

    Attributes:
        path: path of a Unix socket; None for TCP.
        host: IP address for TCP.
        port: TCP port.
        tls: whether connections over TCP use TLS.
    """

    path: str | None
    host: str
    port: int
    tls: bool = False


def parse_listen(text: str) -> ListenAddress:
    """Returns the address that `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT` names.

    Raises:
        ParameterError: the text is malformed, or a tcp: address is not a loopback address.
    """
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest:
        return ListenAddress(rest, "", 0)
    host, _, port = rest.rpartition(":")
    host = host.strip("[]")
    if kind not in ("tcp", "ssl") or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ParameterError(
            f"listening address must be unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT, got {text!r}"
        )
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ParameterError(
            f"host of a listening address must be an IP address, got {host!r}; "
            f"for this machine's switches use tcp:127.0.0.1:{port}"
        ) from None
    if kind == "tcp" and not loopback:
        raise ParameterError(
            f"host of a tcp: address must be a loopback address, got {host}; "
            f"for switches elsewhere use ssl:{host}:{port} with certificates"
        )
    return ListenAddress(None, host, int(port), kind == "ssl")


def proven_plan(
    topology: Topology,
    hosts: int,
    routing: str,
    prover: Prover,
    *,
    local_repair: bool = True,
    ordered_repair: bool = False,
) -> RoutePlan:
    """Returns a compiled and proven plan; reports both steps.

    Args:
        topology: graph of the routers.
        hosts: hosts per router.
        routing: name of the routing.
        prover: proves the plan.
        local_repair: whether the plan has fast reroute.
        ordered_repair: whether fast reroute keeps to an order of channels, so that no failure causes a cyclic
            dependency.

    Raises:
        NegativeResult: the plan fails its proof.
        UsageError: the routing is unknown, or the repairs of its plan cannot be ordered.
    """
    started = time.monotonic()
    repairs = {"local_repair": local_repair, "ordered_repair": ordered_repair}
    plan = make_plan(topology, hosts, routing, **repairs)
    size = plan.size()
    report(Planned(size.flows, size.groups, plan_digest(plan), time.monotonic() - started))
    started = time.monotonic()
    proof = prover.prove(plan)
    if not proof.ok:
        raise NegativeResult(f"the plan fails its proof and is not installed: {proof.faults[0]}")
    report(Proven(proof.pairs, proof.max_hops, time.monotonic() - started))
    return plan


def serve(arguments: argparse.Namespace) -> None:
    """Runs the controller that the command line describes, until the process ends.

    Raises:
        NegativeResult: the plan fails its proof.
        UsageError: an argument is wrong.
        MachineError: the controller framework is not installed.
    """
    frameworks.use(arguments.framework)
    if arguments.plugins_from is not None:
        receive(arguments.plugins_from)
    address = parse_listen(arguments.listen)
    files = (arguments.private_key, arguments.certificate, arguments.ca_certificate)
    _check_certificates(arguments.listen, address, files)
    topology = make_topology(arguments.topology, parse_params(arguments.topology, arguments.params))
    if arguments.ports_from is not None:
        topology = topology.with_ports(*zip(*inherited(arguments.ports_from), strict=True))
    prover = Prover()
    plan = proven_plan(
        topology,
        arguments.hosts,
        arguments.routing,
        prover,
        local_repair=not arguments.no_local_repair,
        ordered_repair=arguments.ordered_repair,
    )
    loop = None if routing(plan.routing).oblivious else _adaptive_loop(arguments, plan)

    replanner = _replanner(arguments, plan, prover)
    drain_requests = _drain_requests(arguments.requests_from, plan)

    # Imported late, because a framework takes a while; and first, because Ryu's replaces the sockets.
    run: Run = importlib.import_module(frameworks.used().runtime).run
    from controller.app import PlanApp
    from controller.openflow import codec, connections

    try:
        context = connections.Certificates(*files).context() if address.tls else None
    except OSError as error:  # includes TLS errors
        raise UsageError(f"the certificates cannot be used: {error}") from error
    installer = Installer(plan, codec.fingerprint)
    try:
        listener = connections.listen(address.path, address.host, address.port)
    except OSError as error:
        raise UsageError(f"the controller cannot listen on {arguments.listen}: {error.strerror}") from error
    report(Listening(arguments.listen))
    application = PlanApp(installer, replanner, loop, drain_requests)
    gc.freeze()  # the plan stays: garbage collection need not traverse it while switches wait
    run(Endpoint(listener, context, len(plan.switches)), application)


def _replanner(arguments: argparse.Namespace, plan: RoutePlan, prover: Prover) -> Replanner:
    """Creates the replanner, with an earlier controller's drains and the ports that it had set down."""
    replanner = Replanner(plan, prover)
    if arguments.drained is not None:
        replanner.ask_for(drain_named(plan.topology, arguments.drained.split(",")))
    for router, port in parse_ports(arguments.ports_down, plan.topology.routers):
        replanner.state.adopt(router, port)
    return replanner


def _drain_requests(descriptor: int | None, plan: RoutePlan) -> Callable[[], Drain | None]:
    """Returns a function that returns the drain that the parent requested since its previous call."""
    if descriptor is None:  # no parent
        return lambda: None
    connection = socket.socket(fileno=descriptor)

    def newest() -> Drain | None:
        names = requested_drain(connection)
        return None if names is None else drain_named(plan.topology, names)

    return newest


def _check_certificates(listen: str, address: ListenAddress, files: tuple[str | None, ...]) -> None:
    if address.tls and None in files:
        raise UsageError("an ssl: address needs --private-key, --certificate and --ca-certificate")
    if not address.tls and any(file is not None for file in files):
        raise UsageError(f"listening address with certificates must be ssl:HOST:PORT, got {listen}")


def _adaptive_loop(arguments: argparse.Namespace, plan: RoutePlan) -> AdaptiveLoop:
    """Returns the loop for an adaptive routing.

    Raises:
        UsageError: the arguments name no source of occupancies.
    """
    requested = partial(_no_request)
    if arguments.queues_from is not None:
        connection = socket.socket(fileno=arguments.queues_from)  # stays open for requests
        queues = receive_queues(connection)
        requested = partial(requested_adaptation, connection)
    elif arguments.link_rate is not None:
        queues = Queues({}, arguments.queue, arguments.link_rate)
    else:
        raise UsageError(f"{plan.routing} adapts to the load of the links: it needs --link-rate BITS_PER_S")
    source: OccupancySource
    if queues.switches:
        source = NetlinkOccupancy(queues.switches, queues.queue_packets)
    else:
        topology = plan.topology
        ports = {dpid(r): frozenset(topology.link_ports(r).tolist()) for r in range(topology.routers)}
        source = PortStatisticsOccupancy(ports, queues.rate_bps, queues.queue_packets)
    return AdaptiveLoop(plan, source, step_s(queues.rate_bps, queues.queue_packets), requested)


def _no_request() -> AdaptationRequest | None:
    return None


def parse_params(name: str, words: list[str]) -> dict[str, Value]:
    """Returns the parameters of a topology, by key, from words such as `q=7`.

    Raises:
        ParameterError: the family has no such parameter, a value is outside its domain, or a required
            parameter is missing.
    """
    by_key = {parameter.key: parameter for parameter in family(name).parameters}
    params: dict[str, Value] = {}
    for word in words:
        written, _, text = word.partition("=")
        key = written.replace("-", "_")
        if key not in by_key:
            names = one_of(parameter.name for parameter in by_key.values())
            raise ParameterError(f"parameter of {name} must be {names}, got {written!r}{hint(key, by_key)}")
        params[key] = by_key[key].read(text)
    missing = [
        parameter.name for key, parameter in by_key.items() if parameter.required and key not in params
    ]
    if missing:
        raise ParameterError(f"{name} needs {missing[0]}=VALUE")
    return params


def parse_ports(text: str, routers: int) -> list[tuple[int, int]]:
    """Returns (router, port number) for each port in a text such as `s4:2,s5:1`.

    Args:
        text: the ports; empty for no ports.
        routers: number of routers of the fabric.

    Raises:
        ParameterError: the text is malformed, or the fabric has no such switch.
    """
    ports = []
    for word in filter(None, text.split(",")):
        name, _, number = word.partition(":")
        if not number.isdecimal():
            raise ParameterError(f"port must be SWITCH:NUMBER, such as s4:2, got {word!r}")
        ports.append((switch_router(name, routers), int(number)))
    return ports


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="controller.service", description=__doc__.splitlines()[0])
    parser.add_argument("topology", help="topology family, such as polarfly")
    parser.add_argument("params", nargs="*", help="parameters of the topology, such as q=7")
    parser.add_argument("--hosts", type=int, default=1, help="hosts attached to each router (default 1)")
    parser.add_argument("--routing", default="min", help="name of the routing (default min)")
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        help=f"unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT (default {DEFAULT_LISTEN})",
    )
    parser.add_argument("--private-key", metavar="FILE", help="the controller's private key for ssl: (PEM)")
    parser.add_argument("--certificate", metavar="FILE", help="the controller's certificate for ssl: (PEM)")
    parser.add_argument(
        "--ca-certificate", metavar="FILE", help="CA certificate of the switches for ssl: (PEM)"
    )
    parser.add_argument(
        "--framework",
        default=frameworks.AUTO,
        help=f"controller framework: {', '.join(frameworks.CHOICES)} (default {frameworks.AUTO})",
    )
    parser.add_argument("--no-local-repair", action="store_true", help="omit fast reroute from the plan")
    parser.add_argument(
        "--ordered-repair", action="store_true", help="restrict fast reroute to an order of channels"
    )
    parser.add_argument(
        "--link-rate",
        type=_positive,
        metavar="BITS_PER_S",
        help="rate of the links; adapt to the switches' port statistics",
    )
    parser.add_argument(
        "--queue", type=_positive, default=32, help="capacity of a port's queue in packets (default 32)"
    )
    _add_parent_options(parser)
    return parser


def _add_parent_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for a parent process, which may start several controllers one after another."""
    parser.add_argument(
        "--queues-from",
        type=int,
        metavar="FD",
        help="descriptor of the socket over which the parent sends the sockets that read the queues",
    )
    parser.add_argument(
        "--requests-from", type=int, metavar="FD", help="descriptor of the socket for drain requests"
    )
    parser.add_argument(
        "--plugins-from", type=int, metavar="FD", help="descriptor of the file with the parent's plug-ins"
    )
    parser.add_argument(
        "--ports-from", type=int, metavar="FD", help="descriptor of the file with the ports of all routers"
    )
    parser.add_argument(
        "--drained", metavar="NAMES", help="links and switches to drain from the start, such as s3"
    )
    parser.add_argument(
        "--ports-down", default="", help="ports that an earlier controller set down, such as s4:2"
    )


def main() -> Status:
    """Runs the controller and returns its exit status."""
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        with pulse.beating():
            serve(arguments)
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except Exception as error:  # the process's outermost boundary
        known = known_status(error)
        if known is None:
            die(internal_text(error))
        status, text = known
        report(Fatal(text))
        print(f"controller: {text}", file=sys.stderr)
        return status
    return Status.DONE


if __name__ == "__main__":
    sys.exit(main())
