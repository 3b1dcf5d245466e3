"""`python -m polarlab`: the command line."""

import os
import sys

try:
    folder = os.getcwd()
except FileNotFoundError:  # it was removed, so it has no modules
    folder = ""
# Python looks for modules in the working folder first, which may be another user's.
if (
    folder
    and sys.path[:1] == [folder]
    and not os.path.samefile(folder, os.path.dirname(os.path.dirname(__file__)))
):
    del sys.path[0]

from polarlab.cli.main import main

sys.exit(main())
