"""Records of a session are bounded by number and length; what does not fit is counted."""

from experiments.programs.bounded import Bounded


def test_records_are_bounded_by_number():
    bounded = Bounded(max_records=3)
    for number in range(5):
        bounded.add(number)
    assert (bounded.records, bounded.more) == ((0, 1, 2), 2)


def test_records_are_bounded_by_length_and_are_the_first_ones():
    bounded = Bounded(max_characters=5)
    for text in ("abc", "de", "f", ""):
        bounded.add(text, text)
    assert (bounded.records, bounded.more) == (("abc", "de"), 2)
