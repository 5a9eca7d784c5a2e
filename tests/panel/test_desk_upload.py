"""A large file of BINs through the real web server: its memory does not grow with the file."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.utils.module_loading import import_string

from merchants.models import User
from payments.installments.bin_files import COLUMNS
from payments.installments.models import BinImport
from tests.stage.desk import HIDDEN
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

LINES = 60_000
PAGE = "/admin/desk/bins/import/"
# The map of all prefixes that there can be (14 MB), and as much as parsing takes.
GROWTH_MAX = 64 * 1024 * 1024


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebProcess]:
    web = WebProcess(tmp_path / "log", "config.wsgi", WEB_WORKERS="1")
    yield web
    web.stop()


def signed_in(web: WebProcess) -> requests.Session:
    """Return an operator's browser; the session is made beside the sign-in, whose hash is slow."""
    operator = User.objects.create_superuser("operator@example.com", "a long enough password")
    session = import_string(f"{settings.SESSION_ENGINE}.SessionStore")()
    session[SESSION_KEY] = str(operator.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = operator.get_session_auth_hash()
    proof = {"method": "password", "at": time.time(), "reauthenticated": True}
    session["account_authentication_methods"] = [proof]
    session["account_authentication_methods_user"] = str(operator.pk)
    session.save()
    browser = requests.Session()
    browser.cookies.set(settings.SESSION_COOKIE_NAME, session.session_key)
    return browser


def memory(web: WebProcess) -> int:
    master = psutil.Process(web._process.pid)
    return sum(one.memory_info().rss for one in master.children(recursive=True))


def lines(count: int) -> bytes:
    rows = (f"{n:08d},visa,credit,TR,Test Bank,bonus,false,false" for n in range(count))
    return "\n".join([",".join(COLUMNS), *rows, ""]).encode()


def upload(browser: requests.Session, web: WebProcess, content: bytes) -> Any:
    page = browser.get(web.url + PAGE, timeout=30).text
    form = {**dict(HIDDEN.findall(page)), "why": "The bank's new table."}
    return browser.post(
        web.url + PAGE, form, files={"file": ("bins.csv", content)}, timeout=150,
        allow_redirects=False,
    )  # fmt: skip


@pytest.mark.timeout(200)
@pytest.mark.dear("uploads 3 MB beside the real web server")
def test_memory_does_not_grow_with_the_file(web: WebProcess) -> None:
    browser = signed_in(web)
    assert upload(browser, web, lines(1000)).status_code == 303
    before = memory(web)

    answer = upload(browser, web, lines(LINES))

    assert answer.status_code == 303, answer.text
    assert BinImport.objects.get(is_active=True).row_count == LINES
    grown = memory(web) - before
    print(f"{LINES} lines, {grown // 1024} KiB more memory")  # noqa: T201
    assert grown < GROWTH_MAX
