"""The check of the project's language."""

import language
import pytest


@pytest.mark.parametrize(
    "line",
    [
        "The routing is free of circles.",
        "The user is told which file it is.",
        "The sweep goes on where it stopped.",
        "a value in the place of the default",
        "Its births are counted.",
        "The pattern has not such a parameter.",
        "The file is no text.",
        '"""Gives the thread other rights."""',
    ],
)
def test_phrases_are_found(line):
    (finding,) = language.findings("a.py", f"Plain words.\n{line}\n")
    assert (finding.file, finding.number, finding.line) == ("a.py", 2, line)


@pytest.mark.parametrize("line", ["There is no file.", "It is no longer than 8.", "a cycle of three links"])
def test_plain_words_pass(line):
    assert not [*language.findings("a.py", line)]


def test_what_is_allowed_has_a_reason():
    assert language.allowed("a.py: Circle  # the name of a class of matplotlib\n") == [("a.py", "Circle")]
    with pytest.raises(SystemExit, match=r"REASON"):
        language.allowed("a.py: Circle")
