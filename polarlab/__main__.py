"""`python -m polarlab`: the command line."""

import os
import sys

# Python looks for modules in the working folder first, which may be another user's.
if sys.path[:1] == [os.getcwd()] and not os.path.samefile(
    sys.path[0], os.path.dirname(os.path.dirname(__file__))
):
    del sys.path[0]

from polarlab.cli.main import main

sys.exit(main())
