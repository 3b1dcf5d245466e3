"""`python -m polarlab`: the command line."""

import sys

from polarlab.cli.main import main

sys.exit(main())
