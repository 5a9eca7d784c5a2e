"""The check of sentences: their length, and forms that have plainer ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devstack import sentences
from devstack.check import checks

PLAIN = "# Refunds\n\nThe bank gives money back. See `this` page.\n"
OF_36 = f"The bank {'very ' * 33}slow."
Page = Callable[[str], Path]


@pytest.fixture
def page(tmp_path: Path) -> Page:
    """Return how to write the one page of a checkout."""

    def write(text: str, name: str = "docs/page.md") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return tmp_path

    return write


def test_plain_sentences_pass(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    root = page(PLAIN)

    assert sentences.main(root) == 0

    out = capsys.readouterr().out
    assert out == "2 sentences of 1 pages read, median 4 words, longest 5, 0 faults\n"


@pytest.mark.parametrize(
    "planted",
    [OF_36, f"- An item.\n- {OF_36}\n", f"| a |\n|---|\n| {OF_36} |\n", f"> {OF_36}"],
    ids=["paragraph", "item", "cell", "quote"],
)
def test_a_sentence_of_36_words_is_refused(
    page: Page, capsys: pytest.CaptureFixture[str], planted: str
) -> None:
    root = page(f"{PLAIN}\n{planted}\n")

    assert sentences.main(root) == 1

    out = capsys.readouterr().out
    assert "docs/page.md:" in out
    assert "36 words, 35 may be: The bank very" in out
    assert out.endswith("longest 36, 1 faults\n")


def test_one_of_35_words_passes_and_code_counts_as_one(page: Page) -> None:
    assert sentences.main(page(f"{PLAIN}\n{OF_36.replace('very', '`a b c`', 1)[:-6]}.\n")) == 0


def test_a_page_of_long_sentences_is_refused(
    page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    root = page(f"# Refunds\n\n{'One two three four five six seven. ' * 2}")
    assert sentences.main(root) == 0

    page(f"# Refunds\n\nThe bank {'very ' * 14}slow.\n")

    assert sentences.main(root) == 1
    out = capsys.readouterr().out
    assert "half of the sentences have over 17 words, 16 may be the median" in out


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        ("What the bank took is in `amount`.", "a question word as subject"),
        ("Who pays is asked.", "a question word as subject"),
        ("The card is charged: whoever has it pays.", "a question word as subject"),
        ("The bank declined. Whatever comes next is refused.", "a question word as subject"),
        ("All but for one are charged.", "but for"),
        ("A new description is told by no event.", "is told by"),
        ("It is not charged, nor is it refunded.", "nor is"),
        ("Two cards, one of which is charged.", "of which"),
        ("The bank declines all the same.", "all the same"),
        ("The bank is asked anew.", "anew"),
    ],
)
def test_a_form_that_has_a_plainer_one_is_refused(
    page: Page, capsys: pytest.CaptureFixture[str], planted: str, name: str
) -> None:
    root = page(f"{PLAIN}\n{planted}\n")

    assert sentences.main(root) == 1

    assert f"docs/page.md:5: “{name}”: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "kept",
    [
        "What does the bank say?",
        "The page says what the bank did.",
        "## What the bank did",
        "| what | who |\n|---|---|\n| amount | bank |",
        "```sh\n# What the bank did\n```",
        "<!-- What the bank did -->",
        "The customer, who has the card, pays.",
    ],
)
def test_questions_headings_and_code_pass(page: Page, kept: str) -> None:
    assert sentences.main(page(f"{PLAIN}\n{kept}\n")) == 0


def test_history_is_held_to_the_longest_length_alone(page: Page) -> None:
    page("# One\n\nWhat the bank did.\n", "docs/adr/0001-one.md")
    assert sentences.main(page(PLAIN)) == 0

    page(f"# One\n\n{OF_36}\n", "docs/adr/0001-one.md")

    assert sentences.main(page(PLAIN)) == 1


def test_a_checkout_without_pages_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentences.main(tmp_path) == 1

    assert capsys.readouterr().out.startswith("0 sentences of 0 pages read")


def test_the_check_is_one_of_those_before_a_commit(tmp_path: Path) -> None:
    assert "sentences" in [check.name for check in checks(tmp_path)]
