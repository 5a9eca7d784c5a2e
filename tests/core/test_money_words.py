"""Amounts as people read and write them, in both languages."""

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from core import money

CURRENCIES = ["try", "usd", "eur", "gbp", "jpy", "kwd", "chf"]


@pytest.mark.parametrize(
    ("amount", "currency", "english", "turkish"),
    [
        (653961, "try", "₺6,539.61", "₺6.539,61"),
        (0, "usd", "$0.00", "$0,00"),
        (-125000, "eur", "-€1,250.00", "-€1.250,00"),
        (125000, "chf", "1,250.00 CHF", "1.250,00 CHF"),
        (1250, "jpy", "1,250 JPY", "1.250 JPY"),
        (1250, "kwd", "1.250 KWD", "1,250 KWD"),
        (999_999_999_999, "gbp", "£9,999,999,999.99", "£9.999.999.999,99"),
    ],
)
def test_an_amount_is_written_in_the_pages_language(
    amount: int, currency: str, english: str, turkish: str
) -> None:
    with translation.override("en"):
        assert money.written(amount, currency) == english
    with translation.override("tr"):
        assert money.written(amount, currency) == turkish


def test_parts_are_written_in_the_pages_language() -> None:
    with translation.override("tr"):
        assert money.written_split(10000, "try", 3) == "₺33,34 + 2\xa0×\xa0₺33,33"


@given(st.integers(0, money.MAX_REQUESTED_MINOR), st.sampled_from(CURRENCIES))
@pytest.mark.parametrize("language", ["en", "tr"])
def test_what_is_written_is_read_as_the_same(language: str, amount: int, currency: str) -> None:
    with translation.override(language):
        assert money.read(money.written(amount, currency), currency) == amount


@pytest.mark.parametrize(
    ("language", "text", "amount"),
    [
        ("en", "125", 12500), ("en", "125.5", 12550), ("en", " 1,250.00 ", 125000),
        ("tr", "125", 12500), ("tr", "125,5", 12550), ("tr", "1.250,00", 125000),
        ("tr", "₺1.250", 125000), ("tr", "1.250 TRY", 125000), ("en", "1250 try", 125000),
    ],
)  # fmt: skip
def test_an_amount_is_read_as_people_write_it(language: str, text: str, amount: int) -> None:
    with translation.override(language):
        assert money.read(text, "try") == amount


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", ""), ("en", "x"), ("en", "-1"), ("en", "1.234"), ("en", "1,25"), ("en", "1,2345.00"),
        ("tr", "1.25"), ("tr", "1,234"), ("tr", "12.50"), ("en", "1e3"), ("en", "١٢٥"),
        ("en", "1."),        ("en", "$5"), ("en", "9" * 13), ("en", "."), ("tr", "1.250.00"),
    ],
)  # fmt: skip
def test_what_may_mean_another_amount_is_refused(language: str, text: str) -> None:
    with translation.override(language), pytest.raises(ValueError, match=r"amount|decimals"):
        money.read(text, "try")
