"""Declarations of options, families and their parameters, from which the command line is built."""

from __future__ import annotations

from experiments.spec.experiment import Experiment
from experiments.spec.files.approval import Demands, approved
from experiments.spec.files.command_request import CommandRequest, command_request
from experiments.spec.option import Given, Option
from experiments.spec.options import (
    DEFAULT_LOAD,
    DEFAULT_PATTERN,
    ENGINE,
    FAILOVER,
    KINDS,
    RUN,
    SATURATION,
    SIMULATE,
    SIMULATED_SWEEP,
    SWEEP,
    TABLES,
    TOPOLOGY,
    UP,
    declared_kind,
    every_option,
    family_options,
    noun_of,
    options_of,
    own_options,
)
from topology.parameters import Parameter, hint
from topology.registry import FAMILIES
