"""`manage.py import_bins`: a version of the whole table, or a report of every bad line."""

import io
import os
import signal
import tracemalloc
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from payments.installments import bin_files, bins
from payments.installments.models import Bin, BinImport
from tests.stage.bin_table import HEADER, csv_of, import_bins, import_bytes, line, problems_of
from tests.stage.processes import PATIENCE_SECONDS, begin
from tests.stage.threads import together

pytestmark = pytest.mark.django_db

WHOLE_CARD = "4242424242424242"


def command(*arguments: str) -> str:
    said = StringIO()
    call_command("import_bins", *arguments, stdout=said, stderr=said)
    return said.getvalue()


def active() -> list[str]:
    """Return the prefixes that count now."""
    return sorted(Bin.objects.filter(version__is_active=True).values_list("prefix", flat=True))


# --- What is taken ----------------------------------------------------------------------------


def test_a_file_becomes_the_whole_table(tmp_path: Path) -> None:
    (tmp_path / "bins.csv").write_bytes(csv_of(line("454300"), line("4543001")))
    import_bins(line("411111"))

    said = command(str(tmp_path / "bins.csv"))

    assert active() == ["454300", "4543001"]
    assert "with 2 prefixes" in said


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + csv_of(line()),
        csv_of(line()).replace(b"\n", b"\r\n"),
        csv_of(line()).rstrip(b"\n"),
        csv_of(line(), "", ""),
        csv_of(line(issuer='"Test Bank A"')),
        csv_of(line(issuer='"Bank, ""A"" and Şubesi"')),
        csv_of(
            "false,45430000,credit,TR,,,visa,true",
            header="commercial,prefix,card_type,country,issuer,program,brand,"
            "three_d_secure_required",
        ),
    ],
    ids=["a mark", "crlf", "no last line feed", "empty lines", "quotes", "quoted", "other order"],
)
def test_forms_of_a_file_that_are_taken(content: bytes) -> None:
    assert problems_of(content) == []
    assert active() == ["45430000"]


def test_prefixes_of_other_lengths_may_overlap() -> None:
    assert problems_of(csv_of(line("454300"), line("4543000"), line("45430000"))) == []


# --- What is refused --------------------------------------------------------------------------

BOOLEAN = "must be true or false"
REFUSED: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", ["line 1: must be the header"]),
    "header only": (csv_of(), ["line 1: is the only line"]),
    "no header": (csv_of(header=line()), ["line 1: must be the header"]),
    "a column less": (csv_of(header=HEADER.removeprefix("prefix,")), ["line 1: must be"]),
    "a column twice": (csv_of(header=f"{HEADER},prefix"), ["line 1: must be the header"]),
    "another column": (csv_of(header=f"{HEADER},colour"), ["line 1: must be the header"]),
    "doubled": (
        csv_of(line(), line("454300"), line()),
        ["line 4, prefix: was on an earlier line: '45430000'"],
    ),
    "five digits": (csv_of(line("45430")), ["line 2, prefix: must have 6 to 8 digits: '45430'"]),
    "nine digits": (csv_of(line("454300001")), ["line 2, prefix: must have 6 to 8 digits"]),
    "a whole card": (csv_of(line(WHOLE_CARD)), ["line 2, prefix: must have 6 to 8 digits"]),
    "full-width": (
        csv_of(line("４５４３００")),
        ["line 2, prefix: must have 6 to 8 digits: '４５４３００'"],
    ),
    "a card as an issuer": (
        csv_of(line(issuer="4242 4242 4242 4242")),
        ["line 2, issuer: must not hold a card number"],
    ),
    "Latin-1": (csv_of(line(), line("454301", issuer="Çay")).decode().encode("latin-1"), [
        "line 3: is not UTF-8",
    ]),
    "a quote over lines": (
        csv_of(line(issuer='"Test'), line("454301")),
        ["line 2: is not CSV: a quoted value ends on its own line"],
    ),
    "a NUL": (
        csv_of(line(issuer="Test\x00Bank")),
        ["line 2, issuer: must have up to 100 characters, all of them printable: 'Test\\x00Bank'"],
    ),
    "a NUL in a prefix": (csv_of(line("4543\x0000")), ["line 2, prefix: must have 6 to 8 digits"]),
    "a NUL for a line": (csv_of(line(), "\x00"), ["line 3: has 1 values instead of 8"]),
    "UTF-16": (
        csv_of(line()).decode().encode("utf-16"),
        ["line 1: is not UTF-8", "line 1: must be the header"],
    ),
    "a mark in the middle": (
        csv_of(line(), "\ufeff" + line("454301")),
        ["line 3, prefix: must have 6 to 8 digits"],
    ),
    "semicolons": (csv_of(line()).replace(b",", b";"), ["line 1: must be the header"]),
    "10 MB": (csv_of(line(issuer="9" * 10_000_000), line("454301")), [
        "line 2: is longer than 4096 bytes",
    ]),
    "too few values": (csv_of("454300,visa"), ["line 2: has 2 values instead of 8"]),
    "too many values": (csv_of(line() + ","), ["line 2: has 9 values instead of 8"]),
    "brand": (csv_of(line(brand="Visa")), ["line 2, brand: must be one of visa"]),
    "card type": (csv_of(line(card_type="")), ["line 2, card_type: must be one of credit debit"]),
    "country": (csv_of(line(country="tr")), ["line 2, country: must be two capital letters: 'tr'"]),
    "issuer": (csv_of(line(issuer="x" * 101)), ["line 2, issuer: must have up to 100"]),
    "program": (csv_of(line(program="Bonus")), ["line 2, program: must be 1 to 40 of"]),
    "booleans": (
        csv_of(line(commercial="yes", three_d_secure_required="1")),
        [f"line 2, commercial: {BOOLEAN}: 'yes'", f"line 2, three_d_secure_required: {BOOLEAN}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_line_is_named_and_nothing_changes(name: str) -> None:
    import_bins(line("411111"))
    content, expected = REFUSED[name]

    found = problems_of(content)

    assert len(found) == len(expected)
    for said, beginning in zip(found, expected, strict=True):
        assert said.startswith(beginning)
    assert active() == ["411111"]
    assert BinImport.objects.count() == 1


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("column", bin_files.COLUMNS)
@pytest.mark.parametrize(
    "written", [WHOLE_CARD, "4242 4242 4242 4242", "４２４２４２４２４２４２４２４２"]
)
def test_a_card_number_is_never_repeated(written: str, column: str) -> None:
    [said] = problems_of(csv_of(line(**{column: written})))

    assert not any(part in said for part in (written, "4242", "４２４２"))


def test_the_command_says_the_first_hundred_and_how_many(tmp_path: Path) -> None:
    (tmp_path / "bins.csv").write_bytes(csv_of(*[line("1")] * 250))
    said = StringIO()

    with pytest.raises(CommandError, match="250 bad lines or values; nothing was changed"):
        call_command("import_bins", str(tmp_path / "bins.csv"), stderr=said)

    assert said.getvalue().count("line ") == 100


@pytest.mark.parametrize("arguments", [(), ("bins.csv", "--undo"), ("/nowhere/bins.csv",)])
def test_the_command_takes_a_file_or_undo(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command(*arguments)


def test_memory_is_flat() -> None:
    """A file that comes in parts of its own: what is kept does not grow with its lines."""

    def peak_of(count: int) -> int:
        content = csv_of(*(line(str(40_000_000 + n)) for n in range(count)))
        tracemalloc.start()
        for _row in bin_files.rows(io.BytesIO(content), bin_files.Problems()):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(5_000) < peak_of(500) + 100_000


# --- Versions ---------------------------------------------------------------------------------


def test_undo_makes_the_version_before_active_again() -> None:
    for prefix in ("411111", "422222", "433333"):
        import_bins(line(prefix))

    assert "is active again, with 1 prefixes" in command("--undo")
    assert active() == ["422222"]
    command("--undo")
    assert active() == ["411111"]


def test_an_import_after_an_undo_leads_back_to_what_was_active() -> None:
    for prefix in ("411111", "422222"):
        import_bins(line(prefix))
    command("--undo")
    import_bins(line("433333"))

    command("--undo")

    assert active() == ["411111"]


@pytest.mark.parametrize("imports", [0, 1])
def test_there_may_be_nothing_to_undo(imports: int) -> None:
    for _ in range(imports):
        import_bins(line())

    with pytest.raises(CommandError, match="no version to go back to"):
        command("--undo")

    assert len(active()) == imports


def test_five_versions_are_kept() -> None:
    made = [import_bins(line(str(411111 + n))).pk for n in range(7)]

    assert sorted(BinImport.objects.values_list("pk", flat=True)) == made[2:]
    assert Bin.objects.count() == 5


def test_the_version_before_is_kept_however_old_it_is() -> None:
    for n in range(5):
        import_bins(line(str(411111 + n)))
    for _ in range(4):
        command("--undo")
    import_bins(line("433333"))

    command("--undo")

    assert active() == ["411111"]
    assert BinImport.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_of_two_imports_at_once_both_are_versions_and_one_is_active() -> None:
    files = [csv_of(*(line(f"{start}{n:04}") for n in range(500))) for start in ("41", "55")]

    both = together([lambda one=one: import_bytes(one).pk for one in files])

    assert BinImport.objects.count() == 2
    last = BinImport.objects.get(is_active=True)
    assert {last.pk, last.replaced_id} == set(both)
    assert len(active()) == 500


@pytest.mark.django_db(transaction=True)
def test_after_a_kill_in_the_middle_the_old_version_is_active(tmp_path: Path) -> None:
    import_bins(line("411111"))
    pipe = tmp_path / "bins.csv"
    os.mkfifo(pipe)

    with begin("manage.py", "import_bins", str(pipe)) as process:
        with pipe.open("wb") as half:
            half.write(csv_of(*(line(f"5{n:07}") for n in range(20_000))))
            half.flush()
            _wait_for(_is_copying)
            process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)

    _wait_for(lambda: not _is_copying())
    assert active() == ["411111"]
    assert BinImport.objects.count() == 1
    assert Bin.objects.count() == 1
    assert bins.facts_of("411111", built_in={}).program == "bonus"


def _wait_for(is_so: Callable[[], bool]) -> None:
    with connection.cursor() as cursor:
        for _ in range(PATIENCE_SECONDS * 20):
            if is_so():
                return
            cursor.execute("SELECT pg_sleep(0.05)")
    raise AssertionError("it never came")


def _is_copying() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY installments_bin %'"
                       " AND state = 'active' AND datname = current_database()")  # fmt: skip
        return cursor.fetchone() is not None
