"""A payer's link is a secret, for it opens the page by itself: no log or row shows its end."""

import io
import json
import logging
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest

from config.logs import LineHandler, logging_config
from core.scrub import scrub
from merchants.models import RequestLog
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.threeds import challenged, hand_off, open_page

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Return the log lines of the service and of gunicorn, through the formatter of production."""
    options = logging_config(level="DEBUG")["formatters"]["json"]
    handler = LineHandler(io.StringIO())
    handler.setFormatter(options.pop("()")(**options))
    loggers = [logging.getLogger(), logging.getLogger("gunicorn.error")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel("DEBUG")
    yield handler.stream
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> Answer:
    return challenged(acme)


def attempt_of(paid: Answer) -> str:
    return paid["latest_attempt"]


def path_of(paid: Answer) -> str:
    return urlsplit(paid["next_action"]["redirect_to_url"]["url"]).path


def end_of(paid: Answer) -> str:
    return path_of(paid).rpartition(".")[2]


def shown_paths(lines: io.StringIO) -> list[str]:
    told = [json.loads(line) for line in lines.getvalue().splitlines()]
    return [line["path"] for line in told if line["logger"] == "access"]


def test_a_payer_who_opens_the_page_leaves_no_link_in_the_log(
    paid: Answer, lines: io.StringIO
) -> None:
    assert hand_off(paid).status == 200

    assert shown_paths(lines) == [f"/3ds/{attempt_of(paid)}.[redacted]"]
    assert end_of(paid) not in lines.getvalue()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "wrong",
    [
        lambda path: f"{path}0",
        lambda path: path[:-1],
        lambda path: path.upper().replace("/3DS", "/3ds"),
        lambda path: path.replace(".", "%2E"),
        lambda path: path.replace(".", "%252E"),
        lambda path: f"{path}/",
        lambda path: f"{path}-x",
        lambda path: f"/elsewhere{path}",
        lambda path: f"/v1{path}",
    ],
)
def test_a_link_that_is_no_longer_whole_is_not_in_the_log(
    wrong: object, paid: Answer, lines: io.StringIO
) -> None:
    open_page(wrong(path_of(paid)))

    [path] = shown_paths(lines)
    assert path.endswith(("[redacted]", "[redacted]/"))
    assert end_of(paid)[:-1].lower() not in lines.getvalue().lower()


def test_no_line_of_anybody_shows_a_link(paid: Answer, lines: io.StringIO) -> None:
    link = paid["next_action"]["redirect_to_url"]["url"]

    for name in ("gunicorn.error", "somebody.elses"):
        logger = logging.getLogger(name)
        logger.error("Error handling request %s", path_of(paid))
        logger.debug("GET %s", {"url": link, "next": quote(quote(link, safe=""), safe="")})
        try:
            raise ValueError(f"no luck with {link}")
        except ValueError:
            logger.exception("crashed")

    assert lines.getvalue().count("[redacted]") >= 8
    assert end_of(paid) not in lines.getvalue()


def test_the_request_log_does_not_keep_the_link_that_was_answered(paid: Answer) -> None:
    row = RequestLog.objects.get(object_id=paid["id"])

    assert f"{attempt_of(paid)}.[redacted]" in row.response_body
    assert end_of(paid) not in row.response_body


def test_the_page_of_a_refused_link_does_not_show_it(paid: Answer) -> None:
    page = open_page(f"{path_of(paid)}0")

    assert page.status == 404
    assert end_of(paid) not in page.content.decode()


@pytest.mark.parametrize(
    "text",
    [
        "attempt att_0VbcB44OwH8iCCpP2hHyVc4y.",
        "of att_0VbcB44OwH8iCCpP2hHyVc4y. Then",
        "att_0VbcB44OwH8iCCpP2hHyVc4y",
        "seatt_le.example",
    ],
)
def test_an_attempts_id_is_no_secret(text: str) -> None:
    assert scrub(text) == text
