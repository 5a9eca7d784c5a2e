"""The content policy of the bank's pages, and the files that they may load."""

import pytest

from tests.stage import payer
from tests.stage.bank_orders import authenticate
from tests.stage.payer import Page

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}
# Its form ends at the shop, and wherever the shop redirects to.
OF_A_FORM = {name: sources for name, sources in POLICY.items() if name != "form-action"}


def every_page(monkeypatch: pytest.MonkeyPatch, reference: str = "ref_1") -> dict[str, Page]:
    path = f"/acs/{authenticate(reference=reference)['transaction_id']}"
    pages = {
        "challenge": payer.get(path),
        "no decision": payer.request("POST", f"{path}/decision"),
        "wrong method": payer.request("PUT", path),
        "too long": payer.request("POST", path, b"x" * 300_000),
        "too many fields": payer.request("POST", f"{path}/decision", b"x=1&" * 2000),
        "unknown": payer.get("/acs/3ds_unknown"),
        "decided": payer.request("POST", f"{path}/decision", b"decision=approve"),
        "answer": payer.get(f"{path}/answer"),
    }

    def fail(_transaction_id: str) -> None:
        raise RuntimeError

    monkeypatch.setattr("testbank.acs.authentications.find", fail)
    return pages | {"failed": payer.get(path)}


def test_every_page_carries_the_policy_and_nothing_that_it_forbids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = every_page(monkeypatch)

    assert [page.status for page in pages.values()] == [200, 400, 405, 413, 400, 404, 303, 200, 500]
    for name, page in pages.items():
        leads_back = name in ("challenge", "no decision", "too many fields", "answer")
        assert page.policy == (OF_A_FORM if leads_back else POLICY), name
        assert page.headers["Content-Type"].startswith("text/html"), name
        assert page.headers["Cache-Control"] == "no-store", name
        assert page.headers["Referrer-Policy"] == "no-referrer", name
        assert page.headers["X-Content-Type-Options"] == "nosniff", name
        assert "Set-Cookie" not in page.headers, name
        assert [asset for asset in page.assets if not asset.startswith(("/static/", "data:"))] == []
        assert page.inline == [], name


def test_inline_code_would_be_noticed() -> None:
    page = Page(200, {}, b"<p style='x' onclick='y'>1</p><script>z</script>")

    assert page.inline == ["style", "onclick", "z"]


def test_the_banks_own_files_come_from_its_own_origin() -> None:
    script = payer.get("/static/testbank/answer.js")

    assert script.content.endswith(b"submit.call(document.forms[0]);\n")
    assert script.headers["Content-Type"].startswith("text/javascript")
    assert script.headers["X-Content-Type-Options"] == "nosniff"
    assert payer.get("/static/testbank/../../.env").status == 404


# --- Languages ----------------------------------------------------------------------------------

TURKISH = {"HTTP_ACCEPT_LANGUAGE": "tr-TR,tr;q=0.9,en;q=0.5"}


def test_every_page_speaks_the_browsers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    english = every_page(monkeypatch)
    monkeypatch.undo()
    real = payer.request
    monkeypatch.setattr(payer, "request", lambda *given, **facts: real(*given, **facts, **TURKISH))
    turkish = every_page(monkeypatch, "ref_2")

    shown = [name for name, page in english.items() if page.status != 303]
    for name in shown:
        assert b'lang="en"' in english[name].content, name
        assert b'lang="tr"' in turkish[name].content, name
        assert turkish[name].headers["Content-Language"] == "tr"
        assert turkish[name].headers["Vary"] == "Accept-Language"
        assert "Deneme bankası" in turkish[name].text, name
    assert "Approve" in english["challenge"].form.buttons
    assert [*turkish["challenge"].form.buttons] == ["Onayla", "Reddet", "Yanıt verme", "Vazgeç"]
    assert turkish["challenge"].form.buttons["Onayla"] == ("decision", "approve")
    assert turkish["answer"].form.fields.keys() == english["answer"].form.fields.keys()


def test_programs_are_answered_in_english() -> None:
    refused = payer.request("GET", "/authorizations/x/nothing", **TURKISH)

    assert refused.headers["Content-Type"] == "application/json"
    assert b"not found" in refused.content
    assert "Content-Language" not in refused.headers
