"""BibTeX of this software and of the papers."""

from experiments.papers.citations import citation, citations

__all__ = ["citation", "citations"]
