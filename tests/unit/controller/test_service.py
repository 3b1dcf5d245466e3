"""The controller's command line, its plan before it listens, and its exit status."""

import json
import os

import pytest
from support.builders.port_tables import with_shuffled_ports

from controller import service
from controller.reports import parse_report
from controller.service import ListenAddress, parse_listen, parse_params, parse_ports, proven_plan
from routing.plan.digest import plan_digest
from routing.registry import make_plan
from routing.verification.proof import PlanError, Proof
from routing.verification.verifier import Prover
from topology.errors import MachineError, NegativeResult, ParameterError, PolarLabError, UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.files.inheritance import inheritable, inherited


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/polarlab/controller", ListenAddress("/run/polarlab/controller", "", 0)),
        ("tcp:127.0.0.1:6653", ListenAddress(None, "127.0.0.1", 6653)),
        ("tcp:[::1]:6653", ListenAddress(None, "::1", 6653)),
    ],
)
def test_addresses_to_listen_on(text, address):
    assert parse_listen(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "unix:", "tcp:", "tcp:127.0.0.1", "tcp:127.0.0.1:0", "tcp:127.0.0.1:65536", "udp:127.0.0.1:1"],
)
def test_other_forms_are_refused(text):
    with pytest.raises(ParameterError, match="unix:PATH, tcp:HOST:PORT"):
        parse_listen(text)


def test_names_are_refused_as_addresses():
    with pytest.raises(ParameterError, match=r"'localhost'; .* tcp:127\.0\.0\.1:6653"):
        parse_listen("tcp:localhost:6653")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_remote_addresses_need_tls(host):
    with pytest.raises(ParameterError, match=f"got {host}; .* ssl:{host}:6653"):
        parse_listen(f"tcp:{host}:6653")
    assert parse_listen(f"ssl:{host}:6653") == ListenAddress(None, host, 6653, tls=True)


def test_parameters_are_read_by_their_types():
    assert parse_params("polarfly", ["q=7"]) == {"q": 7}
    assert parse_params("polarstar", ["radix=7", "supernode=iq"]) == {"radix": 7, "supernode": "iq"}


def test_parameters_of_a_wrong_type_or_topology_are_refused():
    with pytest.raises(ParameterError, match=r"^q .* 128, got 'x'"):
        parse_params("polarfly", ["q=x"])
    with pytest.raises(ParameterError, match=r"^q .* 128, got 6"):
        parse_params("polarfly", ["q=6"])
    with pytest.raises(ParameterError, match=r"'suprnode'; .*'supernode'"):
        parse_params("polarstar", ["suprnode=iq"])
    with pytest.raises(ParameterError, match="polarfly needs q=VALUE"):
        parse_params("polarfly", [])
    with pytest.raises(UsageError, match=r"topology.*'tori'"):
        parse_params("tori", ["q=7"])


def test_ports_that_an_earlier_controller_set_down_are_read():
    assert parse_ports("", 7) == []
    assert parse_ports("s4:2,s5:10", 7) == [(3, 2), (4, 10)]
    for wrong in ("s4", "s4:", "s4:x", "s4:-2", "s8:1", "4:2"):
        with pytest.raises(ParameterError, match=wrong.partition(":")[0]):
            parse_ports(wrong, 7)


def test_a_proven_plan_is_reported_step_by_step(capsys):
    plan = proven_plan(PolarFly(2), 1, "min", Prover())
    assert plan.routing == "min"
    planned, proven = map(json.loads, capsys.readouterr().out.splitlines())
    assert (planned["event"], proven["event"]) == ("planned", "proven")
    assert planned["groups"] == 3 * 18
    assert planned["digest"] == plan_digest(make_plan(PolarFly(2), 1, "min"))
    assert (proven["pairs"], proven["max_hops"]) == (42, 2)


def test_a_plan_has_the_ports_that_the_parent_hands_over(capsys):
    topology = with_shuffled_ports(PolarFly(2), 2)
    ports = [topology.router_ports(router, 2) for router in range(topology.routers)]
    with inheritable(ports) as (descriptor,):
        handed = PolarFly(2).with_ports(*zip(*inherited(os.dup(descriptor)), strict=True))
    proven_plan(handed, 2, "min", Prover())
    planned, _ = map(json.loads, capsys.readouterr().out.splitlines())
    assert planned["digest"] == plan_digest(make_plan(topology, 2, "min"))
    assert planned["digest"] != plan_digest(make_plan(PolarFly(2), 2, "min"))


def test_a_plan_that_fails_its_proof_is_not_handed_out(monkeypatch):
    failed = Proof(loops=1, faults=["h1_1 to h2_1: loop"])
    monkeypatch.setattr(Prover, "prove", lambda _prover, _plan: failed)
    with pytest.raises(NegativeResult, match="h1_1 to h2_1: loop"):
        proven_plan(PolarFly(2), 1, "min", Prover())


@pytest.fixture
def ended_with(monkeypatch):
    """Runs the command line with a `serve` that raises an error; returns the exit status."""

    def run(error):
        def serve(_arguments):
            raise error

        def leave(status):
            raise SystemExit(status)

        monkeypatch.setattr(service, "serve", serve)
        monkeypatch.setattr("os._exit", leave)
        monkeypatch.setattr("sys.argv", ["controller.service", "polarfly", "q=2"])
        try:
            return service.main()
        except SystemExit as end:
            return end.code

    return run


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NegativeResult("the plan fails its proof"), 1),
        (ParameterError("q must be a prime power, got 6"), 2),
        (MachineError("setpriv is missing"), 3),
        (MemoryError(), 3),
        (PlanError("two rules have the same match"), 4),
        (PolarLabError("a switch vanished"), 4),
        (ValueError("a mistake of ours"), 4),
        (KeyboardInterrupt(), 130),
    ],
    ids=repr,
)
def test_the_exit_status_tells_the_kind_of_error(ended_with, error, status):
    assert ended_with(error) == status


def test_an_error_is_reported_to_the_parent_in_one_line(ended_with, capsys):
    ended_with(PlanError("two rules have the same match"))
    printed = capsys.readouterr()
    assert parse_report(printed.out).text == "two rules have the same match"
    ended_with(UsageError("topology must be one of polarfly, got torus"))
    assert capsys.readouterr().err == "controller: topology must be one of polarfly, got torus\n"


def test_a_plan_with_ordered_repairs_is_that_of_the_fabric(capsys):
    proven_plan(PolarFly(2), 1, "up-down", Prover(), ordered_repair=True)
    planned, _ = map(json.loads, capsys.readouterr().out.splitlines())
    expected = make_plan(PolarFly(2), 1, "up-down", ordered_repair=True)
    assert planned["digest"] == plan_digest(expected) != plan_digest(make_plan(PolarFly(2), 1, "up-down"))
