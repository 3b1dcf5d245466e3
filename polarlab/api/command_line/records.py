"""Records as data and as text: plain JSON, and values for people."""

from __future__ import annotations

from experiments.codec import plain
from experiments.results.text import readable
