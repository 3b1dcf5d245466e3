"""Reuse of an experiment by another command, such as `predict`, which takes the values of shared options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from experiments.spec.experiment import Experiment, by_option
from experiments.spec.option import Option
from experiments.spec.options import (
    ENGINE,
    FAILOVER,
    KINDS,
    PROGRAMS,
    REPLAY,
    SATURATION,
    SIMULATE,
    SWEEP,
    UP,
    noun_of,
    options_of,
)
from experiments.spec.variations import SHORT_FORMS, given_values, varied_options
from topology.errors import UsageError

PREDICT = "predict"


class CommandRequest(NamedTuple):
    """The request of a command that reuses an experiment.

    Attributes:
        experiment: values of the command's options.
        note: sentence about keys that the command ignores although users may expect otherwise; may be empty.
    """

    experiment: Experiment
    note: str


class _Several(NamedTuple):
    """A sweep's list of several values, of which the command needs one.

    Attributes:
        key: key of the list in the table `sweep`, such as `loads`.
        values: the list as text, such as `0.1,0.5`.
        option: the command's option for one value, such as `load`.
    """

    key: str
    values: str
    option: str


def command_request(experiment: Experiment, command: str, given: Mapping[str, Any]) -> CommandRequest:
    """Returns the request of a command with the values of an experiment.

    Args:
        experiment: the experiment.
        command: name of the command: the experiment's kind, or a command that is not an experiment.
        given: option -> value of the command; these replace the experiment's values.

    Raises:
        UsageError: the experiment has several values where the command needs one, or no traffic to predict.
    """
    given = by_option(given)
    taken: dict[str, Any] = {}
    if experiment.kind not in KINDS or experiment.kind == command:
        same = experiment.kind == command and not given
        request = experiment if same else experiment.overridden(given, command)
        return CommandRequest(request, _engine_note(experiment, request, given))
    text = _missing_traffic(experiment) if command == PREDICT and "pattern" not in given else ""
    if command == SATURATION and experiment.kind != SIMULATE:  # other kinds have seconds, not cycles
        text = f"saturation must start from a simulation (simulate), got a {noun_of(experiment.kind)}"
    elif experiment.kind == SWEEP:
        taken, several = _of_sweep(experiment, command, given)
        text = _several_text(several, command) if several else ""
    if text:
        error = UsageError(text)
        raise experiment.source.located(error) if experiment.source else error
    values = {**taken, **given}
    if command == UP:  # --out names the folder of other results
        fabric = {name: value for name, value in experiment.values.items() if name != "out"}
        experiment = replace(experiment, values=fabric)
    request = experiment.overridden(values, command)
    if request.source:
        request = replace(request, source=request.source.giving(taken.keys() - given.keys()))
    return CommandRequest(request, _note(experiment, command))


def _of_sweep(
    experiment: Experiment, command: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[_Several]]:
    """Returns option -> value for a sweep's lists with a single value, and all its other lists.

    Args:
        experiment: the sweep.
        command: name of the command, which needs one value of each option.
        given: option -> value of the command; lists for these options are left out.
    """
    from experiments.spec.variations import listed_values  # imports all routings
    from routing.registry import ROUTINGS

    names = {option.name for option in options_of(command)} - given.keys()
    complete, varied = experiment.complete_values, given_values(experiment.values.get("vary", ()))
    taken: dict[str, Any] = {}
    several = []
    for option, lists in SHORT_FORMS.items():
        if option not in names:
            continue
        text = varied.get(option) or complete[lists]
        found = listed_values(option, text)
        if len(found) == 1:
            taken[option] = found[0]
        else:
            several.append(_Several("vary" if option in varied else lists, text, option))
    for key, text in varied.items():
        owner = key.rpartition(".")[0]
        option = key if not owner else "routing" if owner in ROUTINGS else "pattern"
        if option in names and option not in SHORT_FORMS.keys() & varied.keys():
            several.append(_Several("vary", f"{key}={text}", option))
    return taken, several


def _several_text(several: list[_Several], command: str) -> str:
    keys = ", ".join(dict.fromkeys(one.key for one in several))
    values = " and ".join(one.values for one in several)
    options = ", ".join(dict.fromkeys(f"--{one.option}" for one in several))
    return f"{keys} must be one value for {command}, got {values}; give {options}"


def _missing_traffic(experiment: Experiment) -> str:
    """Returns the error message for an experiment without a pattern to predict; empty if it has one."""
    if experiment.kind != FAILOVER and experiment.traffic_kind not in (REPLAY, PROGRAMS):
        return ""
    keys = [key for key in ("flow-file", "exec", "exec-file") if key in experiment.values]
    got = keys[0] if keys else f"a {noun_of(experiment.kind)}"
    return f"predict must have a pattern and a load, got {got}; give --pattern and --load"


def _engine_note(experiment: Experiment, request: Experiment, given: Mapping[str, Any]) -> str:
    """Returns the note on a sweep's values that the requested engine lacks, or takes in another unit."""
    if experiment.kind != SWEEP or experiment.declared_kind == request.declared_kind:
        return ""
    complete = experiment.complete_values
    before, after = (varied_options(one.values.get("vary", ())) for one in (experiment, request))

    def chosen(option: Option) -> bool:
        """Returns whether users chose an option's value: in a file always, in results if not the default."""
        if experiment.source is not None:
            return True
        derived = option.derived and option.derived(experiment, complete)
        return bool(complete[option.name] != (derived or option.default_for(experiment.declared_kind)))

    gone = experiment.values.keys() - {*request.values, *after}
    lost = [option.name for option in experiment.options if option.name in gone and chosen(option)]
    replaced = before if "vary" in given else {*given, *after}
    lost += [f"vary {key}" for option, key in before.items() if option not in replaced]
    file = f" of {experiment.source.name}" if experiment.source else ""
    return f"--{ENGINE} {request.values[ENGINE]} ignores {', '.join(lost)}{file}" if lost else ""


def _note(experiment: Experiment, command: str) -> str:
    """Returns a sentence on keys that a command ignores although users may expect otherwise; may be empty."""
    file = f" of {experiment.source.name}" if experiment.source else ""
    if command == PREDICT and "faults" in experiment.values:
        return f"predicting the fabric without failures; faults{file} are ignored"
    if command == SATURATION and "faults" in experiment.values:
        return f"searching saturation without failures; faults{file} are ignored"
    names = {option.name for option in options_of(command, experiment.family)} | set(SHORT_FORMS.values())
    unused = [name for name in experiment.values if name not in names - {"patterns", "loads"}]
    if command != UP or not unused:
        return ""
    return f"`up` starts no traffic by itself; {', '.join(unused)}{file} are ignored"
