"""Parts of the prompt of `polarlab up`: Mininet's command line, the session, and its results."""

from __future__ import annotations

from emulation.node_shell import LastingNode
from emulation.prompt.line_input import private_input, run_lines, run_stream, type_lines
from emulation.prompt.mininet_commands import FabricCLI
from experiments.programs.session_record import SessionRecorder
from experiments.session.fabric_session import FabricSession
from polarlab.api.verb import commands_of
from polarlab.api.verbs import SessionVerbs
