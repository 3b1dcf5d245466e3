"""Citations of papers are on the list of those that have been looked up, and all of the list are cited."""

from collections import defaultdict

import citations
import pytest
from citations import Citation


def test_every_citation_is_on_the_list_of_those_looked_up():
    listed, files = citations.listed(), defaultdict(set)
    unknown = []
    for citation, name, line in citations.found():
        files[citation].add(name)
        if name not in listed.get(citation, ("", set()))[1]:
            unknown.append(f"{name}:{line}: {' '.join(citation)}")
    assert not unknown, "\n".join(["look up and run `make cited`:", *unknown])
    assert {one: named for one, (_, named) in listed.items()} == files
    assert not [one for one, (what, _) in listed.items() if not what]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "PolarFly (SC22), section VII-B.", [("polarfly", "section", "VII-B")]),
        ("a.py", "Slim Fly, Fig 8 b, c and Table IV", [("slimfly", "figure", n) for n in ("8b", "8c")]),
        (
            "a.py",
            "Camarero, sections 4.1.2 and 5.2.2",
            [("dragonfly", "section", n) for n in ("4.1.2", "5.2.2")],
        ),
        ("a.py", "PolarFly, equations (2) to (5)", [("polarfly", "equation", n) for n in "25"]),
        ("a.py", "PolarFly and PolarStar, Table 3", [("polarstar", "table", "3")]),
        ("a.py", "PolarFly. Dally and Towles, section 3", []),
        ("a.py", "OpenFlow's table 4 of a PolarFly", []),
        (
            "a.md",
            "## PolarFly\n\n- Slim Fly has less. Props V.3-V.6",
            [("polarfly", "statement", n) for n in ("V.3", "V.6")],
        ),
        ("experiments/papers/polarstar/a.py", "as PolarFly. Fig 9", [("polarstar", "figure", "9")]),
        ("a.csv", 'slimfly,x,"over PolarFly",Fig 5a,0.14,1', [("slimfly", "figure", "5a")]),
        ("a.py", "Valiant (SIAM J. Comput. 11, 1982)", [("", "year", "Comput. 11, 1982")]),
        ("a.py", "Kim et al. (ISCA 2008)", [("", "year", "ISCA 2008")]),
    ],
)
def test_a_citation_has_its_paper_kind_and_number(name, text, expected):
    found = [one for one, _ in citations.citations(name, text)]
    assert found[: len(expected)] == [Citation(*one) for one in expected]
    assert expected or not found
