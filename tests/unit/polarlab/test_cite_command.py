"""`polarlab cite`: BibTeX of this software and of the papers, the same as CITATION.cff."""

import re
import subprocess
import sys

import pytest
from support.fixtures.command_line import fails
from support.fixtures.documents import ROOT

from experiments.papers.claims import BEYOND, PAPERS
from polarlab.cli import main as entry
from polarlab.process import Status


def cited(capsys, *words):
    """Returns key -> field -> text of the printed entries."""
    assert entry.main(["cite", *words]) == Status.DONE
    printed = capsys.readouterr().out
    found = re.findall(r"^@\w+\{(.+?),\n(.*?)^\}$", printed, re.MULTILINE | re.DOTALL)
    return {key: dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, re.MULTILINE)) for key, fields in found}


def test_all_entries_are_those_of_the_citation_file(capsys):
    entries = cited(capsys)
    assert {"polarlab", "polarfly-slides", "dragonfly-topology", *PAPERS} - {BEYOND} == entries.keys()
    script = ROOT / "docs" / "generate" / "citations.py"
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "experiments" / "papers" / "citations.bib").read_text(), "run `make citations`"
    source = (ROOT / "CITATION.cff").read_text()
    for fields in entries.values():
        assert {"title", "author", "year"} <= fields.keys()
        assert fields["title"].strip("{}") in source
        assert all(ord(letter) < 128 for text in fields.values() for letter in text)


def test_a_paper_is_cited_alone(capsys):
    assert cited(capsys, "polarfly").keys() == {"polarfly"}


def test_dragonflies_are_cited_with_the_paper_that_introduced_them(capsys):
    fields, first = cited(capsys, "Dragonfly").values()
    assert first["doi"] == "10.1109/ISCA.2008.19"
    assert first["author"] == "Kim, John and Dally, William J. and Scott, Steve and Abts, Dennis"
    assert fields["doi"] == "10.1145/2677038"
    assert fields["author"] == r"Camarero, Crist{\'o}bal and Vallejo, Enrique and Beivide, Ram{\'o}n"
    assert fields["pages"] == "39:1--39:25"


@pytest.mark.parametrize("name", ["polarfli"])
def test_an_unknown_paper_is_refused_with_the_nearest(capsys, name):
    assert "did you mean 'polarfly'?" in fails(capsys, f"cite {name}", Status.USAGE)
