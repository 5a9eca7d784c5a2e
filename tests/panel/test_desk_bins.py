"""BINs at the desk: uploaded, refused line by line, undone."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from merchants.models import AuditEntry
from payments.installments import bin_imports
from payments.installments.bin_files import COLUMNS
from payments.installments.models import BinImport
from tests.stage.desk import Desk
from tests.stage.factories import GOOD_CARD

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HEADER = ",".join(COLUMNS)
GOOD = "460346,visa,credit,TR,Test Bank,bonus,false,false"
BAD = "12345,visa,credit,TR,Test Bank,bonus,false,false"


@pytest.fixture
def desk() -> Desk:
    return Desk()


def upload(desk: Desk, *lines: str, raw: bytes | None = None, why: str = "New table.") -> object:
    content = "\n".join([HEADER, *lines, ""]).encode() if raw is None else raw
    file = SimpleUploadedFile("bins.csv", content, "text/csv")
    return desk.send("desk_bins_import", form={"file": file, "why": why})


def active() -> BinImport | None:
    return BinImport.objects.filter(is_active=True).first()


def test_a_file_becomes_the_table(desk: Desk) -> None:
    answer = upload(desk, GOOD)

    assert (answer.status_code, answer["Location"]) == (303, "/admin/desk/bins/")
    assert active().row_count == 1
    [row] = AuditEntry.objects.filter(action="bins.imported")
    assert (row.actor, row.actor_name, row.reason) == ("operator", desk.person.email, "New table.")
    assert (row.address, row.request_id) == ("127.0.0.1", answer["Request-Id"])


def test_each_bad_line_is_told_and_nothing_changes(desk: Desk) -> None:
    answer = upload(desk, GOOD, BAD, GOOD)

    assert answer.status_code == 400
    told = [(one.line, one.column) for one in answer.context["problems"].first]
    assert told == [(3, "prefix"), (4, "prefix")]
    assert BinImport.objects.count() == AuditEntry.objects.count() == 0


@pytest.mark.parametrize(
    "raw",
    [b"", HEADER.encode(), b"prefix\n1", b"\xff\xfe", f"{HEADER}\n\0\n".encode(),
     f"{HEADER}\n{GOOD}".encode("utf-16")],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_in_words(desk: Desk, raw: bytes) -> None:
    assert upload(desk, raw=raw).status_code == 400
    assert BinImport.objects.count() == 0


def test_a_whole_card_number_is_not_shown_again(desk: Desk) -> None:
    answer = upload(desk, GOOD.replace("460346", GOOD_CARD), GOOD.replace("Test Bank", GOOD_CARD))

    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()
    assert answer.context["problems"].count == 2


def test_stored_text_of_a_line_is_shown_as_text(desk: Desk) -> None:
    answer = upload(desk, GOOD.replace("bonus", "<script>x</script>"))

    assert answer.status_code == 400
    assert "<script>x" not in answer.content.decode()


def test_a_large_file_lies_on_the_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(file: object, _wish: object) -> BinImport:
        seen.append(type(file).__name__)
        return BinImport(pk=1)

    monkeypatch.setattr(bin_imports, "import_file", note)

    assert upload(desk, raw=HEADER.encode() + b"\n" * 3_000_000).status_code == 303
    assert seen == ["TemporaryUploadedFile"]


def test_the_version_before_comes_back(desk: Desk) -> None:
    upload(desk, GOOD)
    upload(desk, GOOD, GOOD.replace("460346", "460347"))

    answer = desk.send("desk_bins_undo", form={"why": "Wrong file."})

    assert answer.status_code == 303
    assert active().row_count == 1
    [row] = AuditEntry.objects.filter(action="bins.undone")
    assert (row.reason, row.before["prefixes"], row.after["prefixes"]) == ("Wrong file.", 2, 1)


def test_a_form_that_is_sent_twice_undoes_once(desk: Desk) -> None:
    for count in range(3):
        upload(desk, *(GOOD.replace("460346", f"46034{n}") for n in range(count + 1)))
    form = {"seen": str(active().pk), "why": "Wrong file."}

    answers = [desk.post("desk_bins_undo", form=form).status_code for _ in range(2)]

    assert answers == [303, 409]
    assert active().row_count == 2


def test_a_stale_page_imports_nothing(desk: Desk) -> None:
    file = SimpleUploadedFile("bins.csv", f"{HEADER}\n{GOOD}\n".encode())
    upload(desk, GOOD)

    answer = desk.post("desk_bins_import", form={"seen": "0", "why": "x", "file": file})

    assert answer.status_code == 409
    assert BinImport.objects.count() == 1


@pytest.mark.parametrize("seen", ["x", "-1", "9" * 40, "１"])
def test_a_version_that_nobody_saw_is_stale(desk: Desk, seen: str) -> None:
    upload(desk, GOOD)

    assert desk.post("desk_bins_undo", form={"seen": seen, "why": "x"}).status_code == 409


def test_there_may_be_nothing_to_undo(desk: Desk) -> None:
    assert desk.send("desk_bins_undo", form={"seen": "0", "why": "x"}).status_code == 409
    assert desk.get("desk_bins").status_code == 200


def test_an_import_needs_a_reason(desk: Desk) -> None:
    assert upload(desk, GOOD, why="").status_code == 400
    assert BinImport.objects.count() == 0
