"""A lock is kept in the database: another process, started later, knows it."""

import re
from collections import Counter
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import requests

from merchants.models import User
from tests.stage.second_factors import CODE, add_app, code, half_signed_in
from tests.stage.threads import together
from tests.stage.visitors import (
    HTML,
    INSIDE,
    NAME,
    PASSWORD,
    RIGHT,
    SIGN_IN,
    WRONG,
    an_operator,
    statuses,
)
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture(autouse=True)
def operator(settings: Any) -> None:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
    an_operator()


def sign_in(web: WebProcess, password: str) -> int:
    with requests.Session() as browser:
        page = browser.get(web.url + SIGN_IN, headers=HTML, timeout=20).text
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)[1]
        typed = {"login": NAME, "password": password, "next": INSIDE}
        form = typed | {"csrfmiddlewaretoken": token}
        answer = browser.post(
            web.url + SIGN_IN, form, headers=HTML, timeout=20, allow_redirects=False
        )
        return answer.status_code


@pytest.mark.dear("a web process with the real, slow hash of passwords is started and asked")
def test_what_one_process_has_counted_locks_the_name_in_another(web: WebProcess) -> None:
    assert sign_in(web, PASSWORD) == RIGHT
    statuses(10)

    assert sign_in(web, PASSWORD) == WRONG
    assert User.objects.get(email=NAME).wrong_in_a_row == 11


@pytest.mark.dear("a web process with the real, slow hash of passwords is started and asked")
def test_what_the_web_process_counts_is_seen_here(web: WebProcess) -> None:
    sign_in(web, "wrong")
    statuses(9)

    assert sign_in(web, PASSWORD) == WRONG
    assert "wrong_and_locked_now" not in web.log
    assert '"reason": "locked"' in web.log
    for secret in (NAME, PASSWORD):
        assert secret not in web.log


# --- Codes --------------------------------------------------------------------------------------

# A code that is sent as its half minute ends is too late for all.
TRIES = 3


@pytest.mark.dear("two web processes are asked at the same moment")
def test_of_one_code_sent_to_two_processes_at_once_one_passes(
    web: WebProcess, tmp_path: Path
) -> None:
    add_app(User.objects.get(email=NAME))
    second = WebProcess(tmp_path / "second.log")
    try:
        for _ in range(TRIES):
            answers = sent_at_once(web, second)
            if RIGHT in answers:
                break
    finally:
        second.stop()

    assert answers == {RIGHT: 1, WRONG: 1}


def sent_at_once(*processes: WebProcess) -> Counter:
    """Send the code that the app shows to each process, from a browser of its own."""
    ready = Barrier(len(processes))
    browsers = [half_signed_in(NAME, f"198.51.100.{n}") for n in range(len(processes))]
    cookies = [browser.http.cookies["sessionid"].value for browser in browsers]
    pairs = zip(processes, cookies, strict=True)
    return Counter(together([partial(_code_sent, *pair, ready) for pair in pairs]))


def _code_sent(process: WebProcess, session: str, ready: Barrier) -> int:
    with requests.Session() as browser:
        browser.cookies.set("sessionid", session)
        page = browser.get(process.url + CODE, headers=HTML, timeout=60).text
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)[1]
        ready.wait(60)
        form = {"code": code(), "csrfmiddlewaretoken": token}
        answer = browser.post(
            process.url + CODE, form, headers=HTML, timeout=60, allow_redirects=False
        )
        return answer.status_code
