"""Messages of wrong use are those of tests/data/messages.txt, which `make messages` writes."""

import pytest
from messages import FILE, answer, cases


@pytest.mark.parametrize("case", list(cases(FILE.read_text())), ids=lambda case: case.line)
def test_wrong_use_is_answered_as_the_table_says(case, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert answer(case) == case.answer
