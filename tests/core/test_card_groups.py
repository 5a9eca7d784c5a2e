"""A number in the groups that cards are written in is found whatever stands between them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import detection

GROUPS = {
    "4-4-4-4": ("4242", "4242", "4242", "4242"),
    "4-4-4-4-3": ("4000", "0000", "0000", "0000", "006"),
    "4-4-4-4-2": ("6200", "0000", "0000", "0000", "13"),
    "4-6-5": ("3782", "822463", "10005"),
    "4-6-4": ("3056", "930902", "5904"),
}
GAPS = [
    "    ", ",", ", ", " , ", ";", "; ", ":", " : ", "=", "==", "|||", '","', "', '", ") (",
    "\n\n\n\n", "\r\n\r\n", "\t\t\t\t", "→", " → ", "💳", "€", "§§", "«»", "…", "&", "&&", "#",
    "^", "`", "¤¤¤¤", "\u2003\u2003\u2003\u2003", "\u200b,\u200b,\u200b,", "،", "、", "·,·", "_ _",
]  # fmt: skip
# Invisible characters are read as nothing: the groups beside them are one.
INVISIBLE = "\u2065\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8\ufffc"
signs = st.characters(
    exclude_categories=["L", "N", "Mn", "Me", "Cf", "Cs"], exclude_characters=INVISIBLE
)
gaps = st.text(signs, min_size=1, max_size=4)


def written(pattern: str, *between: str) -> str:
    groups = GROUPS[pattern]
    gaps = [*(between * len(groups))[: len(groups) - 1], ""]
    return "".join(group + gap for group, gap in zip(groups, gaps, strict=True))


def masked(pattern: str) -> str:
    digits = "".join(GROUPS[pattern])
    return f"{digits[:6]}******{digits[-4:]}"


@pytest.mark.parametrize("pattern", GROUPS)
@pytest.mark.parametrize("gap", GAPS)
def test_a_cards_own_groups_are_found_and_masked(pattern: str, gap: str) -> None:
    text = f"Ada's card ({written(pattern, gap)}) is new"

    assert detection.contains_card_number(text)
    assert detection.mask_card_numbers(text) == f"Ada's card ({masked(pattern)}) is new"


@given(st.sampled_from(sorted(GROUPS)), st.tuples(gaps, gaps, gaps, gaps), st.text(), st.text())
def test_whatever_stands_between_them(
    pattern: str, between: tuple[str, ...], before: str, after: str
) -> None:
    text = written(pattern, *between)

    assert detection.contains_card_number(text)
    shown = detection.mask_card_numbers(f"{before} {text} {after}")
    assert not detection.contains_card_number(shown)


@pytest.mark.parametrize("gap", [" , ", "→", "    "])
def test_groups_beside_others_are_found(gap: str) -> None:
    card = written("4-4-4-4", gap)

    for text in (f"1{gap}{card}", f"{card}{gap}1230{gap}987", f"7777{gap}{card}{gap}7777"):
        assert "4242424242424242" not in digits_of(detection.mask_card_numbers(text))


@pytest.mark.parametrize("number", range(2, 9))
def test_cards_in_a_row_are_all_masked(number: int) -> None:
    text = ", ".join([written("4-4-4-4", "; ")] * number)

    shown = detection.mask_card_numbers(text)

    assert not detection.contains_card_number(shown)
    assert "4242424242424242" not in digits_of(shown)


def digits_of(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())


@pytest.mark.parametrize(
    "text",
    [
        written("4-4-4-4", ",,,,,"),
        written("4-4-4-4", "     "),
        written("4-4-4-4", "卡"),
        written("4-4-4-4", " x "),
        written("4-4-4-4", " و "),
        "42, 42, 4242, 4242, 4242",  # Sixteen digits, and no card's groups.
        "42424242, 42424242",
        "4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 2",
        "4242,4242,4242,4241",
        "4242.00, 4242.00, 4242.00, 4242.00",
        "4242,42 4242,42 4242,42",
        "4,242.42; 4,242.42; 4,242.42",
        "2001:4242:4242:4242:4242::a",
        "4242:4242:4242:4242:4242:4242:4242:a",
        "a4242,4242,4242,4242",
        "4242,4242,4242,4242a",
        "14242,4242,4242,4242",
    ],
)
def test_other_numbers_are_no_card(text: str) -> None:
    assert not detection.contains_card_number(text)
    assert detection.mask_card_numbers(text) == text


def test_lists_of_amounts_and_days_are_no_cards() -> None:
    numbers = random.Random(1)  # noqa: S311
    rows = [
        ", ".join(f"{numbers.randrange(1, 10**6) / 100:.2f}" for _ in range(20)) for _ in range(500)
    ]
    rows += [", ".join(f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(20)) for _ in rows]
    rows += [", ".join(str(numbers.randrange(100, 100_000)) for _ in range(3)) for _ in rows]

    taken = [row for row in rows if detection.contains_card_number(row)]

    assert taken == []
    print(f"{len(rows)} lists")  # noqa: T201
