"""The check of words: openings of docstrings, words with plainer forms, names that hide modules."""

from pathlib import Path

import pytest

from devstack import words
from devstack.check import checks
from devstack.state import ROOT

PLAIN = '"""Refunds of payments."""\n\n# Of one payment.\nLIMIT = 3\n"""Refunds at most."""\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout with one room, whose one file has two docstrings and a comment."""
    (tmp_path / "payments").mkdir()
    (tmp_path / "payments" / "refunds.py").write_text(PLAIN)
    return tmp_path


def test_docstrings_that_begin_with_a_noun_pass(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words.main(tree) == 0

    assert capsys.readouterr().out == "2 docstrings and 1 comments read, 0 refused\n"


@pytest.mark.parametrize("word", ["What", "who", "Whose", "Whoever", "Whom", "WHICH"])
@pytest.mark.parametrize(
    "planted",
    [
        '"""{} the bank was asked."""\n',
        'class Refund:\n    """{} the bank was asked."""\n',
        'def refund() -> None:\n    """\n    {} the bank was asked.\n    """\n',
        'class Refund:\n    amount: int\n    """{} the bank was asked."""\n',
    ],
    ids=["module", "class", "function", "attribute"],
)
def test_a_question_word_at_the_beginning_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str], planted: str, word: str
) -> None:
    (tree / "payments" / "planted.py").write_text(planted.format(word))

    assert words.main(tree) == 1

    out = capsys.readouterr().out
    assert "payments/planted.py:" in out
    assert f"{word} the bank was asked." in out
    assert out.endswith("3 docstrings and 1 comments read, 1 refused\n")


@pytest.mark.parametrize("planted", ["# {} pays.\n", "PAYS = True  # {} pays.\n"])
@pytest.mark.parametrize("word", ["What", "who", "Whoever"])
def test_a_comment_is_refused_alike(
    tree: Path, capsys: pytest.CaptureFixture[str], planted: str, word: str
) -> None:
    (tree / "payments" / "planted.py").write_text(planted.format(word))

    assert words.main(tree) == 1

    out = capsys.readouterr().out
    assert "payments/planted.py:1: " in out
    assert out.endswith("2 docstrings and 2 comments read, 1 refused\n")


@pytest.mark.parametrize(
    "planted",
    [
        "def pay(clock: int) -> None: ...\n",
        "def pay() -> None:\n    clock = 3\n",
        "class Payment:\n    def pay(self) -> None:\n        [clock for clock in (1, 2)]\n",
        "def pay() -> None:\n    def clock() -> None: ...\n",
        "def clock() -> None: ...\n",
    ],
    ids=["argument", "variable", "loop", "inner function", "function"],
)
@pytest.mark.parametrize("imported", ["from payments import clock", "import time as clock"])
def test_a_name_that_hides_an_imported_module_is_refused(
    tree: Path, capsys: pytest.CaptureFixture[str], imported: str, planted: str
) -> None:
    (tree / "payments" / "clock.py").write_text("")
    (tree / "payments" / "planted.py").write_text(f"{imported}\n\n\n{planted}")

    assert words.main(tree) == 1

    assert "the file imports a module: clock" in capsys.readouterr().out


def test_a_name_of_an_imported_class_or_of_an_attribute_hides_no_module(tree: Path) -> None:
    kept = "from payments.clock import offset\n\n\nclass Payment:\n    clock = offset\n"
    (tree / "payments" / "clock.py").write_text("offset = 0\n")
    (tree / "payments" / "kept.py").write_text(f"{kept}\n    def pay(self, offset): ...\n")

    assert words.main(tree) == 0


@pytest.mark.parametrize("riddle", ["told", "Nobody", "beside", "for\n    ever", "called off"])
def test_a_docstring_more_with_a_word_that_has_plainer_forms_is_refused(
    tree: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    riddle: str,
) -> None:
    monkeypatch.setattr(words, "DOCSTRINGS_WITH_RIDDLES", 1)
    planted = tree / "payments" / "planted.py"
    planted.write_text('"""The bank is asked anew."""\n')
    assert words.main(tree) == 0

    planted.write_text(f'{planted.read_text()}A = 1\n"""The bank is {riddle}."""\n')

    assert words.main(tree) == 1
    assert "2 docstrings contain a word that has plainer forms, 1 may" in capsys.readouterr().out


def test_a_line_of_docs_more_is_refused_alike(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "RIDDLES_IN_DOCS", 0)
    (tree / "docs").mkdir()
    (tree / "docs" / "refunds.md").write_text("# Refunds\n\nThe bank tells.\n")

    assert words.main(tree) == 1

    out = capsys.readouterr().out
    assert "docs/refunds.md:3: has plainer forms: tells" in out
    assert "1 lines of docs contain a word that has plainer forms, 0 may" in out


def test_words_that_only_begin_like_one_and_other_texts_pass(tree: Path) -> None:
    kept = '"""Whole amounts."""\nASKED = """What for?"""\n# For\n# what?\n'
    (tree / "payments" / "amounts.py").write_text(kept)

    assert words.main(tree) == 0


def test_a_checkout_without_docstrings_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words.main(tmp_path) == 1

    assert capsys.readouterr().out == "0 docstrings and 0 comments read, 0 refused\n"


def test_every_room_is_read_and_nothing_that_was_installed() -> None:
    rooms = {program.relative_to(ROOT).parts[0] for program in words.programs(ROOT)}

    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages | {"dev"} <= rooms
    assert not [room for room in rooms if room.startswith(".")]


def test_the_check_is_one_of_those_before_a_commit(tmp_path: Path) -> None:
    assert "words" in [check.name for check in checks(tmp_path)]
