"""Figures of topologies and results, drawn by matplotlib."""

import logging

# Before it is imported: it warns of folders that it cannot write, which a user need not know.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
