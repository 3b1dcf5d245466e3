"""Interning: one representative for equal values, whatever objects they are and however long these live."""

import gc
from itertools import count

import pytest

from routing.interner import Interner
from routing.plan.model import match


def numbering() -> Interner:
    numbers = count()
    return Interner(lambda _: next(numbers))


def test_equal_values_have_one_number_and_different_ones_have_different_numbers():
    interner = numbering()
    assert interner.intern([match(x=1), match(x=2), match(x=1)]) == [0, 1, 0]
    assert interner.intern([match(x=2), match(x=3)]) == [1, 2]
    assert len(interner) == 3


def test_the_representative_is_made_once_from_the_first_of_the_equal_values():
    seen = []
    interner = Interner(lambda value: seen.append(value) or value)
    first, second = match(x=1), match(x=1)
    assert [made is first for made in interner.intern([first, second, first])] == [True] * 3
    assert len(seen) == 1


def test_one_value_has_the_representative_that_it_has_among_several():
    interner = numbering()
    assert interner.one(match(x=1)) == 0
    assert interner.intern([match(x=2), match(x=1)]) == [1, 0]
    assert interner.one(match(x=2)) == 1


def test_a_representative_may_be_none():
    made = []
    interner = Interner(made.append)
    values = [match(x=1), match(x=2)]
    assert interner.intern(values) == interner.intern(values) == [None, None]
    assert interner.one(values[0]) is None
    assert made == values


def test_no_value_is_taken_for_one_that_is_gone():
    # CPython gives the memory, and so the identity, of an object that is gone to the next of its size.
    assert len({id((number, "x")) for number in range(1000)}) < 1000
    interner = numbering()
    for number in range(1000):
        assert interner.intern([(number, "x")]) == [number]
        gc.collect(0)
    assert interner.intern((number, "x") for number in range(1000)) == list(range(1000))


def test_an_error_of_the_maker_is_raised_every_time():
    interner = Interner(lambda value: 1 / value)
    assert interner.intern([2, 4]) == [0.5, 0.25]
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            interner.intern([5, 0])
    assert interner.intern([5]) == [0.2]
