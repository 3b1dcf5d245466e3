"""Plug-ins: users' own topologies, routings, patterns, collectives and motifs."""

from __future__ import annotations

import os
from pathlib import Path

from polarlab import extend
from topology.errors import ParameterError
from topology.files.foreign import Foreign
from topology.files.plugin_files import load_plugin

__all__ = ["Foreign", "load_plugin", "register"]


def register(
    plugin: str | os.PathLike[str], definition: object = None, *, run_programs: bool = False
) -> None:
    """Registers definitions of a plug-in for the lifetime of this program.

    A definition made in Python exists in this process and in those that it forks for simulations. Fabrics and
    cluster workers start new processes, whose definitions must come from a file or an installed package.

    Args:
        plugin: name of the definition, lower-case words with hyphens; or, without a definition, a file of
            Python that registers its definitions itself. A file whose content has changed replaces its
            earlier version.
        definition: a Family, a Routing, a PatternDefinition, a Collective or a Motif of polarlab.extend.
        run_programs: whether root may run a file that another user can change.

    Raises:
        UsageError: something else has the name, the file fails, or root may not run it.
        ParameterError: the definition is of another type, or declares a wrong parameter.

    Examples:
        >>> from polarlab.extend import PatternDefinition
        >>> def mirror(topology, routers, generator):
        ...     return routers[::-1]
        >>> register("mirror", PatternDefinition("routers", "router i to N - 1 - i", "-", mirror))
        >>> patterns()["mirror"].definition
        'router i to N - 1 - i'
    """
    if definition is not None:
        extend.register(os.fspath(plugin), definition)
        return
    if not isinstance(run_programs, bool):
        raise ParameterError(f"run_programs must be True or False, got {run_programs!r}")

    def approves(_file: Foreign, _text: str) -> bool:
        return run_programs

    load_plugin(Path(plugin), approves)
