"""`manage.py check_payment_page`: what somebody changed on the way to the payer is named."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments.checkout import page_check
from payments.checkout.models import CheckoutSession
from payments.checkout.page_check import Answered
from tests.stage.client import ApiClient
from tests.stage.proxies import Proxy, stand_before_the_service

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


def body_with(old: bytes, new: bytes) -> Callable[[Answered], Answered]:
    def change(answer: Answered) -> Answered:
        assert old in answer.body
        return answer._replace(body=answer.body.replace(old, new, 1))

    return change


def header(name: str, value: str | None) -> Callable[[Answered], Answered]:
    def change(answer: Answered) -> Answered:
        kept = {key: text for key, text in answer.headers.items() if key != name}
        return answer._replace(headers=kept | ({name: value} if value else {}))

    return change


PAGES = "/pay/"
PLANTED = {
    "nothing": (PAGES, None, ""),
    "script": (PAGES, body_with(b"</head>", b"<script>1</script></head>"), "a script"),
    "handler": (PAGES, body_with(b"<body>", b'<body onload="x()">'), "a script (onload)"),
    "frame": (PAGES, body_with(b"</body>", b"<iframe></iframe></body>"), "a frame (iframe)"),
    "address": (
        PAGES, body_with(b"</body>", b'<img src="//evil.example/x"></body>'), "evil.example",
    ),
    "form": (PAGES, body_with(b"</body>", b'<form action="/x"></form></body>'), "a <form>"),
    "word": (PAGES, body_with(b"</title>", b".</title>"), "differs first in line"),
    "policy": (PAGES, header("Content-Security-Policy", None), "Content-Security-Policy is lost"),
    "weaker": (PAGES, header("X-Frame-Options", "SAMEORIGIN"), "X-Frame-Options is another"),
    "cookie": (PAGES, header("Set-Cookie", "a=b"), "a header Set-Cookie"),
    "status": (PAGES, lambda answer: answer._replace(status=500), "The status is 500"),
    "style": ("/static/", lambda a: a._replace(body=a.body + b" "), "The style sheet /static/"),
    "gate": ("/static/payer_gate", lambda a: a._replace(body=b"1"), "The script /static/"),
}  # fmt: skip


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Proxy:
    """Stand between payers and the service, which answers in this process."""
    return stand_before_the_service(monkeypatch)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_change_of_the_page_is_named(
    acme: ApiClient, proxy: Proxy, tmp_path: Path, planted: str
) -> None:
    start, change, named = PLANTED[planted]
    proxy.changes = {start: change} if change else {}

    status, said = checked(acme.key, tmp_path)

    assert status == (1 if named else 0), said
    assert named in said
    assert f"{len(page_check.COMPARED)} headers and 2 style sheets compared" in said
    assert [one.status for one in CheckoutSession.objects.all()] == ["expired"]
    assert acme.key not in proxy.seen_by_pages


def test_without_a_page_the_check_fails(acme: ApiClient, proxy: Proxy, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"Nothing was compared. .* answered 401"):
        checked("sk_sandbox_wrong", tmp_path)
    with pytest.raises(CommandError, match="Name a file"):
        call_command("check_payment_page")


def test_what_this_process_answers_itself_is_no_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """cron mails whatever the command writes."""
    caplog.set_level("INFO", "access")
    assert page_check.rendered("/livez").status == 200

    assert [record for record in caplog.records if record.name == "access"] == []


def checked(key: str, tmp_path: Path) -> tuple[int, str]:
    """Run the command; return its exit status and its words."""
    file, said = tmp_path / "key", StringIO()
    file.write_text(f"{key}\n")
    status: Any = 0
    try:
        call_command("check_payment_page", "--key-file", str(file), stderr=said)
    except SystemExit as ended:
        status = ended.code
    return status, said.getvalue()
