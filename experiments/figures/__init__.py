"""Figures of topologies and results. Importing this package loads matplotlib.

On the command line, matplotlib is isolated from user settings, so that figures are the same everywhere.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from pathlib import Path

from topology.files.libraries import homes, import_isolated, trusted_folder

_BACKEND, _FOLDER = "MPLBACKEND", "MPLCONFIGDIR"


def _load() -> None:
    """Imports matplotlib with its default settings and a cache folder that root can trust.

    By itself, matplotlib would read `matplotlibrc` in the working folder, and use the backend that the
    environment names, although files can be written without one.
    """
    # Set before the import, which warns about folders that it cannot write.
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
        # Its data folder has the default settings.
        import_isolated("matplotlib", Path(found.origin).with_name("mpl-data"))
        import_isolated("matplotlib.font_manager", Path("/"))  # reads the cache
    finally:
        del os.environ[_FOLDER]
        os.environ |= {name: text for name, text in before.items() if text is not None}


_load()
