"""TCP flows: sizes, starts, frames on the wire, and the ideal time of an empty fabric; pure."""
