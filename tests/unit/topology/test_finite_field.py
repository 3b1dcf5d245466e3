"""GF(q): the axioms for every supported order, the tables of galois, and the orders that are refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from topology.errors import ParameterError
from topology.finite_fields.field import FiniteField, finite_field
from topology.finite_fields.prime_powers import check_order, nearest_orders, prime_power
from topology.finite_fields.tables import CONWAY_POLYNOMIALS, tables

ROOT = Path(__file__).parents[3]
# Written out, so that an order lost from the product's own list is missed here.
ORDERS = (
    *(2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49, 53, 59),
    *(61, 64, 67, 71, 73, 79, 81, 83, 89, 97, 101, 103, 107, 109, 113, 121, 125, 127, 128),
)


@pytest.fixture(scope="module", params=ORDERS)
def field(request: pytest.FixtureRequest) -> FiniteField:
    return finite_field(request.param)


def elements(field: FiniteField) -> np.ndarray:
    return np.arange(field.order, dtype=np.uint8)


def test_tables_hold_only_elements(field):
    for table, shape in ((field.sum, 2), (field.product, 2), (field.negative, 1), (field.inverse, 1)):
        assert table.dtype == np.uint8
        assert table.shape == (field.order,) * shape
        assert table.max() < field.order


def test_addition_and_multiplication_commute(field):
    assert np.array_equal(field.sum, field.sum.T)
    assert np.array_equal(field.product, field.product.T)


@pytest.mark.parametrize("table", ["sum", "product"])
def test_addition_and_multiplication_associate(field, table):
    operation, a = getattr(field, table), elements(field)
    left = operation[operation[:, :, None], a]
    right = operation[a[:, None, None], operation[None, :, :]]
    assert np.array_equal(left, right)


def test_multiplication_distributes_over_addition(field):
    a = elements(field)
    whole = field.product[a[:, None, None], field.sum[None, :, :]]
    parts = field.sum[field.product[:, :, None], field.product[:, None, :]]
    assert np.array_equal(whole, parts)


def test_zero_and_one_are_neutral(field):
    assert np.array_equal(field.sum[0], elements(field))
    assert np.array_equal(field.product[1], elements(field))
    assert not field.product[0].any()


def test_every_element_has_its_negative_and_its_inverse(field):
    a = elements(field)
    assert not field.sum[a, field.negative].any()
    assert np.all(field.product[a, field.inverse][1:] == 1)


def test_difference_undoes_addition(field):
    a, b = elements(field)[:, None], elements(field)[None, :]
    assert np.array_equal(field.difference(field.sum, b), np.broadcast_to(a, field.sum.shape))


def test_characteristic_is_the_additive_order_of_one(field):
    total, steps = 1, 1
    while total:
        total, steps = int(field.sum[total, 1]), steps + 1
    assert steps == field.characteristic
    assert field.characteristic**field.degree == field.order


def test_addition_adds_the_digits_in_base_p(field):
    p, a = field.characteristic, np.arange(field.order)
    expected = sum(((a[:, None] // p**i + a[None, :] // p**i) % p) * p**i for i in range(field.degree))
    assert np.array_equal(field.sum, expected)


def test_primitive_element_generates_all_but_zero(field):
    power, seen = 1, set()
    for _ in range(field.order - 1):
        seen.add(power)
        power = int(field.product[power, field.primitive_element])
    assert seen == set(range(1, field.order))


def test_tables_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        finite_field(5).sum[1, 1] = 0


@pytest.mark.parametrize("order", [*CONWAY_POLYNOMIALS, 2, 3, 31, 127])
def test_tables_equal_those_of_galois(order):
    import galois

    reference = galois.GF(order, compile="python-calculate")
    a = reference.elements
    field = finite_field(order)
    assert np.array_equal(field.sum, np.asarray(a[:, None] + a[None, :]))
    assert np.array_equal(field.product, np.asarray(a[:, None] * a[None, :]))
    assert np.array_equal(field.negative, np.asarray(-a))
    assert np.array_equal(field.inverse[1:], np.asarray(a[1:] ** -1))
    assert field.primitive_element == int(reference.primitive_element)


# ---- which orders there are ----


def test_the_prime_powers_up_to_128_are_exactly_the_supported_orders():
    assert tuple(n for n in range(-3, 129) if prime_power(n)) == ORDERS


@pytest.mark.parametrize(
    ("order", "factors"),
    [(1, None), (0, None), (2, (2, 1)), (64, (2, 6)), (81, (3, 4)), (127, (127, 1)), (36, None)],
)
def test_prime_power(order, factors):
    assert prime_power(order) == factors


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (6, r"^q .* got 6; \D*5 and 7$"),
        (100, r"^q .* got 100; \D*97 and 101$"),
        (1, r"^q .* got 1; \D*2$"),
        (0, r"^q .* got 0; \D*2$"),
        (-3, r"^q .* got -3; \D*2$"),
        (129, r"^q .* 2 to 128, got 129; \D*128$"),
        (131, r"^q .* 2 to 128, got 131; \D*128$"),
        ("x", r"^q .* whole number, got 'x'$"),
        (7.0, r"^q .* whole number, got 7\.0$"),
        (True, r"^q .* whole number, got True$"),
    ],
)
def test_other_orders_are_refused_with_the_nearest_possible_ones(order, message):
    with pytest.raises(ParameterError, match=message):
        finite_field(order)
    with pytest.raises(ParameterError, match=message):
        check_order(order)


def test_nearest_orders_are_named_only_where_they_exist():
    assert nearest_orders(1) == (2,)
    assert nearest_orders(10) == (9, 11)
    assert nearest_orders(500) == (128,)


# ---- how the tables are made ----


def test_every_field_that_is_not_of_prime_order_has_its_polynomial():
    assert sorted(CONWAY_POLYNOMIALS) == [q for q in ORDERS if prime_power(q)[1] > 1]


def test_tables_of_other_orders_are_refused():
    with pytest.raises(ValueError, match="got 6"):
        tables(6)


def test_making_a_polarfly_does_not_import_galois():
    """It takes over a second, and needs a compiler's library, which new versions of Python wait for."""
    program = (
        "import sys, topology.registry as registry\n"
        "assert registry.make_topology('polarfly', {'q': 7}).links == 224\n"
        "print('galois' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
