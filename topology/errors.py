"""The one root of PolarLab's exceptions, and the kinds that the command line tells apart.

Each kind stands for one exit status of the outside contract. They live in `topology` because every
other part may import it; a part's own errors derive from the kind that fits.
"""


class PolarLabError(Exception):
    """Root of every error that PolarLab raises on purpose; its text is one line for the user."""


class NegativeResult(PolarLabError):
    """The work was done and its result is negative: a proof failed, packets were lost (status 1)."""


class UsageError(PolarLabError):
    """What was asked for does not exist or makes no sense; the text says what would (status 2)."""


class ParameterError(UsageError, ValueError):
    """A parameter lies outside its domain; the text names the rule and the nearest valid values."""


class MachineError(PolarLabError):
    """The machine lacks something; the text names it and how to get it (status 3)."""
