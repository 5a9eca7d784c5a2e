"""Countries and currencies that there are: the standards' own tables, and what they leave out."""

import pytest

from core import money
from core.countries import CODES, is_country


def test_the_countries_are_those_of_the_standard_and_kosovo() -> None:
    assert len(CODES) >= 250, "the table was not read"
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in CODES)
    assert [code for code in ("TR", "DE", "GB", "US", "XK", "CY") if not is_country(code)] == []


@pytest.mark.parametrize("code", ["UK", "EU", "XX", "ZZ", "AA", "SU", "tr", "#c", "", "TUR"])
def test_what_is_no_country(code: str) -> None:
    assert not is_country(code)


def test_the_currencies_are_those_of_the_standard_and_the_installations() -> None:
    assert len(money.CURRENCIES) >= 150, "the table was not read"
    assert [code for code in ("try", "usd", "jpy", "kwd") if not money.is_currency(code)] == []


@pytest.mark.parametrize("code", ["zzz", "trl", "xxx", "xts", "TRY", "", "lira"])
def test_what_is_no_currency(code: str) -> None:
    assert not money.is_currency(code)


def test_a_currency_that_was_given_up_is_one_where_it_is_taken(settings: object) -> None:
    assert not money.is_currency("bgn")

    settings.CURRENCIES = ["try", "bgn"]  # type: ignore[attr-defined]

    assert money.is_currency("bgn")


def test_decimals_are_those_of_the_standard() -> None:
    """Our table of what has not two decimals is compared with the standard's."""
    theirs = {
        one.code.lower(): one.exponent for one in money.Currency if one.exponent not in (None, 2)
    }

    assert {code: money.DECIMALS[code] for code in theirs} == theirs
