"""Performs the page's requests in the fabric's process: declared actions and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from typing import Any

import msgspec

from experiments.session.turns import FabricBusy
from experiments.spec.options import RUN, options_of
from polarlab.api.verb import JSON, Verb
from polarlab.web.actions import PageVerbs, ReplayVerbs, actions
from polarlab.web.channel import Answer
from polarlab.web.wording import wording
from topology.errors import NegativeResult, ParameterError, PolarLabError, UsageError
from topology.plugins import naming_plugins


def answer(verbs: PageVerbs | ReplayVerbs, number: int, name: str, arguments: bytes) -> Answer:
    """Performs an action and returns its answer, an HTTP status and a body.

    Args:
        verbs: the verbs of the page.
        number: number of the request.
        name: name of the action.
        arguments: its arguments as JSON; decoded by the action's declared type, as the sender is not trusted.
    """
    if name not in verbs.allowed:
        return Answer(number, 409, {"error": f"{name} is not possible here"})
    action = actions()[name]
    try:
        request = msgspec.json.decode(arguments, type=action.request)
        values = msgspec.structs.asdict(request)
        _refuse_files(values)
        with naming_plugins():
            result = action.call(verbs, values)()
        if action.http.reply != JSON:
            file_name, content = result
            return Answer(number, 200, None, file=content, file_name=f"{file_name}.zip")
        return Answer(number, 200, _body(action, result))
    except msgspec.MsgspecError as error:
        return Answer(number, 400, {"error": wording(error, action.request)})
    except (UnicodeDecodeError, RecursionError):
        return Answer(number, 400, {"error": "the body must be JSON in UTF-8; see /openapi.json"})
    except (NegativeResult, FabricBusy) as error:
        return Answer(number, 409, {"error": str(error)})
    except (UsageError, ParameterError) as error:
        return Answer(number, 400, {"error": str(error)})
    except PolarLabError as error:
        return Answer(number, 409, {"error": str(error)})
    finally:
        if not action.reads:
            verbs.report_now()


def _body(action: Verb, result: Any) -> Any:
    """Returns an answer's body with a result."""
    if action.http.key:
        return {action.http.key: result if isinstance(result, tuple | str) else str(result)}
    if result is None:
        return {}
    return vars(result) if is_dataclass(result) else result


def _refuse_files(values: Mapping[str, Any]) -> None:
    """Raises UsageError if a value in a request names a file, according to its option's declaration.

    The fabric's process may read every file; users of the page may not.
    """
    declared = {option.key: option for option in options_of(RUN)}
    refuse({name for name, value in values.items() if name in declared and declared[name].file_named(value)})


def refuse(names: Collection[str]) -> None:
    """Raises UsageError if any arguments name files.

    Args:
        names: names of the arguments whose values name files.
    """
    if names:
        raise UsageError(
            f"{min(names)} must not name a file here; use `polarlab run` or the prompt for files"
        )
