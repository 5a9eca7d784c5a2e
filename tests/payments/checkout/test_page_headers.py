"""Every answer below `/pay/` tells browsers to load nothing, keep nothing and tell nobody."""

from contextlib import closing

import pytest
from django.http import HttpRequest
from django.test import Client

from payments.checkout import page_headers
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WANTED = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'none'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


@pytest.mark.parametrize("method", ["get", "head", "post", "put", "options"])
@pytest.mark.parametrize(
    ("end", "host"), [("", None), ("x", None), ("/nothing", None), ("", "evil.example")]
)
def test_every_answer_below_pay_has_the_headers(
    acme: ApiClient, client: Client, method: str, end: str, host: str | None
) -> None:
    path = "/pay" + opened(acme)["url"].partition("/pay")[2] + end
    headers = {"accept": "text/html", "cookie": "sessionid=x", **({"host": host} if host else {})}

    answer = getattr(client, method)(path, headers=headers)

    assert {name: answer.headers.get(name) for name in WANTED} == WANTED, answer.status_code
    assert answer["Permissions-Policy"].count("=()") == len(page_headers.SWITCHED_OFF)
    assert "geolocation=()" in answer["Permissions-Policy"]
    assert not answer.cookies


@pytest.mark.parametrize("path", ["/", "/pay", "/payments", "/static/payer.css"])
def test_other_pages_keep_the_policy_of_all_pages(client: Client, path: str) -> None:
    with closing(client.get(path, headers={"accept": "text/html"})) as answer:
        assert "script-src 'self'" in answer["Content-Security-Policy"]
        assert "Permissions-Policy" not in answer.headers


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [("cross-site", True), ("same-site", True), ("same-origin", False), ("none", False),
     (None, False)],
)  # fmt: skip
def test_a_form_of_another_site_is_known_by_what_the_browser_says(
    said: str | None, *, is_refused: bool
) -> None:
    request = HttpRequest()
    if said is not None:
        request.META["HTTP_SEC_FETCH_SITE"] = said

    assert page_headers.is_posted_by_another_site(request) is is_refused
