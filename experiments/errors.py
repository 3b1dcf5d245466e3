"""Exit statuses under their former name; `topology.exit_status` holds them."""

from topology.exit_status import Status, Terminated, internal_text, known_status

__all__ = ["Status", "Terminated", "internal_text", "known_status"]
