"""The error of plans that cannot be installed or judged."""

from __future__ import annotations

from topology.errors import PolarLabError


class PlanError(PolarLabError):
    """A plan that a switch cannot hold or a proof cannot judge; the text names the rule."""
