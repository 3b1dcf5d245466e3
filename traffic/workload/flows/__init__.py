"""TCP flows: sizes, starts, frames on the wire, and ideal times in an empty fabric; no packet is sent."""
