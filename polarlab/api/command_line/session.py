"""Parts of the prompt of `polarlab up`: Mininet's command line, the session, and its results."""

from __future__ import annotations

from emulation.node_shell import LastingNode
from emulation.prompt.line_input import private_input, run_lines, run_stream, type_lines
from emulation.prompt.mininet_commands import FabricCLI
from experiments.programs.session_record import SessionRecorder
from experiments.results.parts.programs import TrafficOutcome
from experiments.session.fabric_session import FabricSession
from experiments.session.links import LinkLoad
from experiments.session.routing_parameters import parse_assignments
from experiments.session.status import ControllerStatus, TrafficStatus
from topology.faults import FORCE, Element
