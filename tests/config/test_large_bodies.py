"""Bodies of pages: one too large is refused before it is read, or written to the disk."""

from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from panel.operators import bins
from payments.installments.bin_files import COLUMNS
from payments.installments.models import BinImport
from tests.stage.desk import Desk

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

MB = 1024 * 1024
IMPORT = "/admin/desk/bins/import/"
CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked"}


class Wire:
    """A body that notes whether a byte of it is asked for."""

    is_read = False

    def read(self, *_most: Any) -> bytes:
        self.is_read = True
        return b""

    readline = read


def send(path: str, size: int, *, http: Client | None = None, **environ: str) -> tuple[int, bool]:
    """Announce a form with files; return the status, and whether anything of it was read."""
    http, wire = http or Client(), Wire()
    # Of a form with a cookie the token is looked for in its body.
    http.handler.enforce_csrf_checks = True
    http.get("/account/login")
    type_of_files = "multipart/form-data; boundary=x"
    headers = {"CONTENT_TYPE": type_of_files, "CONTENT_LENGTH": str(size), "wsgi.input": wire}
    answer = http.post(path, **{**headers, **environ})
    return answer.status_code, wire.is_read


@pytest.mark.parametrize(
    ("path", "size", "environ"),
    [
        ("/account/login", 10 * MB, {}),
        ("/account/login", settings.BODY_MAX_BYTES + 1, CHUNKED),
        (IMPORT, bins.FILE_BYTES_MAX + MB, {}),
        # The rest of it was not even taken from the wire.
        (IMPORT, settings.BODY_MAX_BYTES + 1, CHUNKED),
    ],
)
def test_more_than_a_page_takes_is_413_and_not_read(
    path: str, size: int, environ: dict[str, str]
) -> None:
    assert send(path, size, **environ) == (413, False)


def test_as_much_as_a_page_takes_is_read() -> None:
    assert send("/account/login", settings.BODY_MAX_BYTES)[1]


def test_a_strangers_file_leads_to_the_sign_in_and_is_not_read() -> None:
    assert send(IMPORT, 10 * MB) == (303, False)


def test_an_operators_file_is_read() -> None:
    http = Desk().http
    http.get(IMPORT)

    assert send(IMPORT, 10 * MB, http=http)[1]


def test_a_file_larger_than_a_form_becomes_the_table() -> None:
    rows = (f"{n:08d},visa,credit,TR,{'A bank' * 9},bonus,false,false" for n in range(4000))
    content = "\n".join([",".join(COLUMNS), *rows, ""]).encode()
    assert len(content) > settings.BODY_MAX_BYTES

    form = {"file": SimpleUploadedFile("bins.csv", content), "why": "The bank's new table."}
    answer = Desk().send("desk_bins_import", form=form)

    assert answer.status_code == 303
    assert BinImport.objects.get(is_active=True).row_count == 4000
