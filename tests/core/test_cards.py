import copy
import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import cards, detection
from core.cards import CardData

VISA = "4242424242424242"
SANDBOX_NUMBERS = [
    "4242424242424242", "5528790000000008", "5526080000000006", "4603450000000000",
    "9792030000000000", "4111111111111111", "5555555555554444", "4766620000000001",
    "9792020000000001", "5400010000000004", "4000002760003184", "4000008400001629",
    "4151111111111112", "4131111111111117", "4000000000000002", "4000000000009995",
    "4000000000000069", "4000000000000119", "4111111111111129", "4129111111111111",
    "4000001100000017", "4000001100000058", "4000000000007726", "4000000000002685",
    "4100000000000019",
]  # fmt: skip
BRANDS = [
    ("4", 16, "visa"),
    ("4", 19, "visa"),
    ("51", 16, "mastercard"),
    ("2221", 16, "mastercard"),
    ("2720", 16, "mastercard"),
    ("9792", 16, "troy"),
    ("65", 16, "troy"),
    ("34", 15, "amex"),
    ("37", 15, "amex"),
    ("36", 14, "diners"),
    ("300", 14, "diners"),
    ("38", 16, "diners"),
    ("3528", 16, "jcb"),
    ("6011", 16, "discover"),
    ("644", 16, "discover"),
    ("6759", 16, "maestro"),
    ("5018", 19, "maestro"),
    ("62", 17, "unionpay"),
]


def with_check_digit(body: str) -> str:
    return next(body + digit for digit in "0123456789" if cards.luhn_valid(body + digit))


def filled(prefix: str, length: int, digits: str) -> str:
    return with_check_digit((prefix + digits)[: length - 1])


card_numbers = st.builds(
    lambda brand, digits: filled(brand[0], brand[1], digits),
    st.sampled_from(BRANDS),
    st.text("0123456789", min_size=19, max_size=19),
)
separators = st.text(" -._/\u00a0\u2003\u2011\t|", min_size=1, max_size=3)
scripts = st.sampled_from([0x30, 0x660, 0x6F0, 0x966, 0xFF10, 0x1D7CE])


@st.composite
def written_numbers(draw: st.DrawFn) -> str:
    """Write a number in some script's digits, cut into groups, with invisible characters."""
    number, zero = draw(card_numbers), draw(scripts)
    cuts = draw(st.sets(st.integers(1, len(number) - 1)))
    written = []
    for place, digit in enumerate(number):
        written.append(draw(separators) if place in cuts else draw(st.sampled_from(["", "\u200b"])))
        written.append(chr(zero + int(digit)))
    return "".join(written)


@pytest.mark.parametrize("number", SANDBOX_NUMBERS)
def test_every_sandbox_card_looks_like_a_card(number: str) -> None:
    assert cards.looks_like_card_number(number)


@pytest.mark.parametrize(("prefix", "length", "brand"), BRANDS)
def test_a_number_of_a_brands_range_is_that_brands_card(
    prefix: str, length: int, brand: str
) -> None:
    number = filled(prefix, length, "0" * 19)

    assert cards.brand_of(number) == brand
    assert cards.looks_like_card_number(number)


@pytest.mark.parametrize("number", ["", "1" * 16, "9791", "2220", "2721", "60", "\u0664242"])
def test_a_start_that_nobody_issues_has_no_brand(number: str) -> None:
    assert cards.brand_of(number) is None


@pytest.mark.parametrize(("prefix", "length"), [("4", 13), ("4", 15), ("37", 16), ("51", 19)])
def test_a_length_that_the_brand_does_not_issue_is_no_card(prefix: str, length: int) -> None:
    assert not cards.looks_like_card_number(filled(prefix, length, "0" * 19))


@given(card_numbers, st.integers(0, 18), st.integers(1, 9))
def test_one_wrong_digit_breaks_luhn(number: str, place: int, shift: int) -> None:
    place %= len(number)
    wrong = str((int(number[place]) + shift) % 10)

    assert not cards.luhn_valid(number[:place] + wrong + number[place + 1 :])


@pytest.mark.parametrize("digits", ["", "-18", " 18", "\u0661\u0668", "1x8"])
def test_only_ascii_digits_pass_luhn(digits: str) -> None:
    assert not cards.luhn_valid(digits)


@given(written_numbers())
def test_a_card_number_is_found_however_it_is_written(written: str) -> None:
    assert detection.contains_card_number(f"paid with: {written}, thanks")


@pytest.mark.parametrize(
    "text",
    [
        VISA,
        f"card:{VISA}",
        f"_{VISA}_",
        f'"{VISA}"',
        f"pan={VISA}&x=1",
        "4242 4242 4242 4242 12/30",
        "12/30 123 4242-4242-4242-4242",
        "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2",
        "4242 - 4242 - 4242 - 4242",
        "4242\u00ad4242\u20604242\ufeff4242",
        "4\ufe0f\u20e3" + VISA[1:],
        "4242\u22124242\u22124242\u22124242",
        "4242\x904242\u20654242\ufffc4242",
        "④②④②❹❷❹❷⑷⑵⑷⑵⁴₂⁴₂",
        f"\u5361\u53f7{VISA}",
        "42424242-4242-4242-0000-000000000000",
    ],
)
def test_separators_and_neighbours_do_not_hide_a_card(text: str) -> None:
    assert detection.contains_card_number(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"pi_0x{VISA}",
        f"{VISA}ab",
        f"1{VISA}",
        f"{VISA}{VISA}",
        "4242     4242 4242 4242",
        "42424242-4242-4242-abcd-424242424242",
        "9 42424242-4242-4242-4242-42424242424a",
        "2026-11-01 12:36:45.123456+00:00",
        "order 4242424242424241",
        "424242******4242",
    ],
)
def test_ids_times_and_other_digits_are_no_card(text: str) -> None:
    assert not detection.contains_card_number(text)


@given(st.text("0123456789 -,;ax4", max_size=120), written_numbers(), st.text("0123456789 -,;ax4"))
def test_nothing_card_like_is_left_after_masking(before: str, written: str, after: str) -> None:
    assert not detection.contains_card_number(detection.mask_card_numbers(before + written + after))


def test_masking_keeps_the_text_around_the_number() -> None:
    text = "½ of it on 4242 4242\u200b 4242 4242, 12/30; and ５５２８ ７９００ ００００ ０００８!"

    shown = detection.mask_card_numbers(text)

    assert shown == "½ of it on 424242******4242, 12/30; and 552879******0008!"


def test_two_numbers_side_by_side_leave_no_third_behind() -> None:
    assert detection.mask_card_numbers(" 4242" * 7) == " 424242******4242"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(VISA, "424242******4242"), ("37" + "0" * 13, "370000*****0000"), ("42424242", "********")],
)
def test_a_masked_number_shows_six_and_four(number: str, shown: str) -> None:
    assert cards.masked(number) == shown


@pytest.fixture
def card() -> CardData:
    return CardData(VISA, 12, 2030, cvc="987", holder_name="Ada Lovelace")


def test_a_card_tells_its_bin_last_four_and_brand(card: CardData) -> None:
    shown = (card.bin, card.last4, card.masked, card.brand)

    assert shown == ("424242", "4242", "424242******4242", "visa")


@pytest.mark.parametrize("show", [repr, str, "{:>20}".format, "{!r}".format, lambda c: f"{[c]}"])
def test_a_card_shows_nothing_as_text(show: Callable[[object], str], card: CardData) -> None:
    assert show(card).strip("[]") == "<CardData>"


@pytest.mark.parametrize(
    "keep",
    [
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
        json.dumps,
        orjson.dumps,
        hash,
        iter,
        dict,
        vars,
        lambda card: card.__getstate__(),
        lambda card: {card},
    ],
)
def test_a_card_refuses_to_be_kept(keep: Callable[[object], object], card: CardData) -> None:
    with pytest.raises(TypeError):
        keep(card)


def test_cards_with_equal_numbers_are_not_equal(card: CardData) -> None:
    assert card != CardData(VISA, 12, 2030, cvc="987", holder_name="Ada Lovelace")


@pytest.mark.parametrize(
    "text",
    [
        "%B4242424242424242^LOVELACE/ADA^30122010000000000?",
        "B4242424242424242^LOVELACE/ADA^3012",
    ],
)
def test_a_magnetic_stripes_track_is_found_and_masked(text: str) -> None:
    assert detection.contains_card_number(text)
    assert VISA not in detection.mask_card_numbers(text)


@given(st.integers(0, 10**22 - 1))
def test_an_iban_is_no_card_number(account: int) -> None:
    body = f"{account:022}"
    check = 98 - int(f"{body}292700") % 97
    iban = f"TR{check:02}{body}"
    spaced = " ".join(iban[start : start + 4] for start in range(0, 26, 4))

    assert not detection.contains_card_number(f"Refund to {spaced}.")


@given(st.floats(-180, 180, allow_nan=False).filter(lambda number: abs(number) > 1e-3))
def test_a_coordinate_is_no_card_number(degrees: float) -> None:
    assert not detection.contains_card_number(f"lat {degrees:.14f}")


def test_a_wrong_iban_hides_no_card_number() -> None:
    assert detection.contains_card_number("TR00 4242 4242 4242 4242 00")


@pytest.mark.parametrize(
    ("now", "expired"),
    [
        (datetime(2026, 11, 30, 23, 59, tzinfo=UTC), False),
        # In the last place on earth it is still November, for another second.
        (datetime(2026, 12, 1, 11, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 12, 1, 12, 0, tzinfo=UTC), True),
        (datetime(2027, 1, 1, 1, 0, tzinfo=UTC), True),
    ],
)
def test_a_card_is_expired_when_its_month_is_over_everywhere(now: datetime, expired: bool) -> None:
    assert cards.is_expired(2026, 11, now=now) is expired
    assert cards.is_expired(2025, 12, now=now)
    assert not cards.is_expired(2027, 1, now=now)
