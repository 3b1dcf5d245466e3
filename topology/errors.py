"""Root of PolarLab's exceptions and the kinds that the command line tells apart.

Each kind stands for one exit status of the outside contract. The exceptions live in `topology` because every
other package may import it; a package's own errors derive from the kind that fits.
"""


class PolarLabError(Exception):
    """Root of every error that PolarLab raises on purpose; its text is one line for the user."""


class NegativeResult(PolarLabError):
    """The work was done and its result is negative: a proof failed or packets were lost (status 1)."""


class UsageError(PolarLabError):
    """A request names something that does not exist or makes no sense; the text has a remedy (status 2)."""


class ParameterError(UsageError, ValueError):
    """A parameter is outside its domain; the text names the domain and the nearest values (status 2)."""


class MachineError(PolarLabError):
    """The machine lacks something; the text names it and the way to get it (status 3)."""
