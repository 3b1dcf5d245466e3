"""Figures of topologies and results, drawn by matplotlib, which importing this package loads.

The command's figures are the same in every folder and environment.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from pathlib import Path

from topology.files.libraries import homes, import_apart, trusted_folder

_BACKEND, _FOLDER = "MPLBACKEND", "MPLCONFIGDIR"


def _load() -> None:
    """Imports matplotlib, for the command with its own settings and from a cache that root can trust.

    It takes a file `matplotlibrc` of the working folder for its settings before all others, and the name of
    a backend, which figures of files do not need, from the environment.
    """
    # Before it is imported: it warns of folders that it cannot write, which a user need not know.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    found = importlib.util.find_spec("matplotlib") if "matplotlib" not in sys.modules else None
    if found is None or found.origin is None:
        return
    before = {name: os.environ.pop(name, None) for name in (_BACKEND, _FOLDER)}
    given, base = before[_FOLDER], os.environ.get("XDG_CACHE_HOME")
    caches = [*([Path(base)] if base else []), *(home / ".cache" for home in homes())]
    folders = [*([Path(given)] if given else []), *(folder / "matplotlib" for folder in caches)]
    os.environ[_FOLDER] = str(trusted_folder(folders, "matplotlib"))
    try:
        # Its own settings lie in its folder of data.
        import_apart("matplotlib", Path(found.origin).with_name("mpl-data"))
        import_apart("matplotlib.font_manager", Path("/"))  # which reads the cache
    finally:
        del os.environ[_FOLDER]
        os.environ |= {name: text for name, text in before.items() if text is not None}


_load()
