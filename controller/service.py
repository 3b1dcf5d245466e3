"""The controller as a process: makes a plan, proves it, listens, installs it, and says so.

    python -m controller.service polarfly q=7 --routing min --listen unix:/run/polarlab/controller

What happens is reported on standard output, one JSON object per line (`event` is planned, proven,
listening, connected, ready, installed, incomplete, taking over, adapted, restored, port, replanned,
warning, refused, disconnected, foreign or fatal); logs go to standard error. An adaptive routing's
controller reads the queues that are handed to it, or, told the links' rate, asks the switches for their
ports' statistics. Exit status as everywhere: 1 the plan fails its proof and nothing is installed, 2 wrong
use, 4 an internal error, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import ipaddress
import logging
import socket
import sys
import time
from dataclasses import dataclass
from functools import partial

from controller.adaptation_loop import AdaptiveLoop, step_s
from controller.installer import Installer
from controller.occupancy.port_statistics import PortStatisticsOccupancy
from controller.occupancy.queue_handoff import Queues, receive_queues, restore_requested
from controller.occupancy.source import NetlinkOccupancy, OccupancySource
from controller.replanner import Replanner
from controller.reports import Fatal, Listening, Planned, Proven, die, report
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from routing.verification.verifier import prove
from topology.addressing import dpid
from topology.errors import NegativeResult, ParameterError, UsageError
from topology.exit_status import Status, internal_text, known_status
from topology.registry import family, make_topology

DEFAULT_LISTEN = "tcp:127.0.0.1:6653"


@dataclass(frozen=True)
class ListenAddress:
    """Where switches connect to: a Unix socket's path, or a TCP host and port, with TLS or without."""

    path: str | None
    host: str
    port: int
    tls: bool = False


def parse_listen(text: str) -> ListenAddress:
    """Returns the address that `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT` names.

    Raises:
        ParameterError: it has another form, or is no loopback address and without TLS.
    """
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest:
        return ListenAddress(rest, "", 0)
    host, _, port = rest.rpartition(":")
    host = host.strip("[]")
    if kind not in ("tcp", "ssl") or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ParameterError(f"cannot listen on {text!r}; use unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ParameterError(f"{host!r} is no IP address; use tcp:127.0.0.1:{port}") from None
    if kind == "tcp" and not loopback:
        raise ParameterError(
            f"{host} is not a loopback address: use ssl:{host}:{port}, with certificates, if that is meant"
        )
    return ListenAddress(None, host, int(port), kind == "ssl")


def proven_plan(
    name: str, params: dict[str, int | str], hosts: int, routing: str, *, local_repair: bool = True
) -> RoutePlan:
    """Returns a plan that passed its proof, and reports both steps.

    Raises:
        NegativeResult: the plan fails its proof.
        UsageError: there is no such topology or routing.
    """
    started = time.monotonic()
    plan = make_plan(make_topology(name, params), hosts, routing, local_repair=local_repair)
    size = plan.size()
    report(Planned(size.flows, size.groups, time.monotonic() - started))
    started = time.monotonic()
    proof = prove(plan)
    if not proof.ok:
        raise NegativeResult(f"the plan fails its proof and is not installed: {proof.faults[0]}")
    report(Proven(proof.pairs, proof.max_hops, time.monotonic() - started))
    return plan


def serve(arguments: argparse.Namespace) -> None:
    """Does what the command line asks for; returns only if listening ends."""
    address = parse_listen(arguments.listen)
    files = (arguments.private_key, arguments.certificate, arguments.ca_certificate)
    if address.tls and None in files:
        raise UsageError("ssl: needs --private-key, --certificate and --ca-certificate")
    if not address.tls and files != (None, None, None):
        raise UsageError(f"certificates are for ssl:HOST:PORT, not for {arguments.listen}")
    params = parse_params(arguments.topology, arguments.params)
    repair = not arguments.no_local_repair
    plan = proven_plan(arguments.topology, params, arguments.hosts, arguments.routing, local_repair=repair)

    loop = None if routing(plan.routing).oblivious else _adaptive_loop(arguments, plan)

    # Only now: Ryu takes most of a second to import, and replaces the standard library's sockets.
    from controller import app
    from controller.openflow import codec, runtime

    try:
        context = runtime.Certificates(*files).context() if address.tls else None
    except OSError as error:  # TLS's own errors among them
        raise UsageError(f"the certificates cannot be used: {error}") from error
    installer = Installer(plan, codec.fingerprint)
    try:
        listener = runtime.listen(address.path, address.host, address.port)
    except OSError as error:
        raise UsageError(f"cannot listen on {arguments.listen}: {error.strerror}") from error
    report(Listening(arguments.listen))
    runtime.run(listener, context, app.PlanApp, installer, Replanner(plan), loop)
    die("a thread of the controller ended")


def _adaptive_loop(arguments: argparse.Namespace, plan: RoutePlan) -> AdaptiveLoop:
    """Returns the loop for an adaptive routing.

    Raises:
        UsageError: nothing tells what it is to go by.
    """
    asked = partial(bool)  # nobody can ask
    if arguments.queues_from is not None:
        connection = socket.socket(fileno=arguments.queues_from)  # stays open for requests
        queues = receive_queues(connection)
        asked = partial(restore_requested, connection)
    elif arguments.link_rate is not None:
        queues = Queues({}, arguments.queue, arguments.link_rate)
    else:
        raise UsageError(f"{plan.routing} adapts to the links' load: give --link-rate BITS_PER_S and --queue")
    source: OccupancySource
    if queues.switches:
        source = NetlinkOccupancy(queues.switches, queues.queue_packets)
    else:
        degrees = plan.topology.degrees.tolist()
        ports = {dpid(router): frozenset(range(1, degree + 1)) for router, degree in enumerate(degrees)}
        source = PortStatisticsOccupancy(ports, queues.rate_bps, queues.queue_packets)
    return AdaptiveLoop(plan, source, step_s(queues.rate_bps, queues.queue_packets), asked)


def parse_params(name: str, words: list[str]) -> dict[str, int | str]:
    """Returns the parameters of a topology from words like `q=7`.

    Raises:
        ParameterError: a word has another form or its value another type.
    """
    types = {parameter.name: parameter.type for parameter in family(name).parameters}
    params: dict[str, int | str] = {}
    for word in words:
        key, _, value = word.partition("=")
        try:
            params[key] = types.get(key, str)(value)
        except ValueError:
            raise ParameterError(f"{key} must be a whole number, got {value!r}") from None
    missing = [p.name for p in family(name).parameters if p.required and p.name not in params]
    if missing:
        raise ParameterError(f"{name} needs {missing[0]}=VALUE")
    return params


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def main() -> Status:
    """Runs the controller and returns its exit status."""
    parser = argparse.ArgumentParser(prog="controller.service", description=__doc__.splitlines()[0])
    parser.add_argument("topology", help="a family, as polarfly")
    parser.add_argument("params", nargs="*", help="its parameters, as q=7")
    parser.add_argument("--hosts", type=int, default=1, help="hosts per router")
    parser.add_argument("--routing", default="min")
    parser.add_argument("--listen", default=DEFAULT_LISTEN, help="unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT")
    parser.add_argument("--private-key", metavar="FILE", help="for ssl: our private key (PEM)")
    parser.add_argument("--certificate", metavar="FILE", help="for ssl: our certificate (PEM)")
    parser.add_argument(
        "--ca-certificate", metavar="FILE", help="for ssl: of the authority that signed the switches' (PEM)"
    )
    parser.add_argument("--no-local-repair", action="store_true", help="switches know no ways around")
    parser.add_argument(
        "--queues-from", type=int, metavar="FD", help="a descriptor that the queues to adapt to come over"
    )
    parser.add_argument("--link-rate", type=_positive, metavar="BITS_PER_S", help="to adapt by statistics")
    parser.add_argument("--queue", type=_positive, default=32, help="packets per port (default 32)")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
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
