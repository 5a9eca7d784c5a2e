"""Support and finance in a browser: payments found, understood, captured, canceled and followed."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from api.idempotency import fingerprint
from merchants import team
from merchants.models import IdempotencyKey, Member
from panel import once
from panel.merchants import team_addresses
from payments.disputes.models import Dispute
from tests.browser.page import Page
from tests.browser.sandbox import Merchant
from tests.browser.test_panel import EMAIL, LOCALES, WORDS
from tests.browser.walk import approve
from tests.stage.panel_pages import THINGS, address
from tests.stage.teams import PASSWORD, person
from tests.stage.web_process import WebProcess

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]
WITH_BANK = True

POOR_CARD = "4000000000009995"
LOOKS = [
    ("en", {"width": 1280, "theme": "light"}),
    ("tr", {"width": 390, "theme": "dark", "scripts": False}),
]
DAY: dict[str, dict[str, str]] = {
    "en": {
        "search": "Search", "capture": "Capture ₺125.00", "in part": "Capture a part of it",
        "go on": "Go on", "capture part": "Capture ₺50.00", "refund some": "Refund ₺20.00",
        "amount": "Amount (TRY)", "wrong": "1.250",
        "refused": "Give an amount such as", "part": "50.00", "captured": "₺50.00 was captured.",
        "cancel": "Cancel payment", "reason": "Reason", "twice": "Made twice",
        "canceled": "The payment was canceled.", "note": "Add a note", "text": "Note",
        "noted": "The note was added.", "refund": "Refund", "given": "₺20.00 was given back.",
        "some": "20.00", "why": "There is not enough money or limit on the card.",
        "helps": "Ask for another card, or try again later.", "block": "Block the payer",
        "blocked": "From now on we refuse payments of this payer.", "by": "By ada@acme.example.",
        "answer": "Answer", "sold": "What was sold", "look": "Save and look once more",
        "draft": "Save as a draft", "kept": "The draft was kept.", "submit": "Submit to the bank",
        "submitted": "The evidence was submitted.",
    },
    "tr": {
        "search": "Ara", "capture": "₺125,00 tahsil et", "in part": "Bir bölümünü tahsil et",
        "go on": "Devam et", "capture part": "₺50,00 tahsil et", "refund some": "₺20,00 iade et",
        "amount": "Tutar (TRY)", "wrong": "1,250",
        "refused": "gibi bir tutar verin", "part": "50,00", "captured": "₺50,00 tahsil edildi.",
        "cancel": "Ödemeyi iptal et", "reason": "Neden", "twice": "İki kez yapıldı",
        "canceled": "Ödeme iptal edildi.", "note": "Not ekle", "text": "Not",
        "noted": "Not eklendi.", "refund": "İade", "given": "₺20,00 geri verildi.",
        "some": "20,00", "why": "Kartta yeterli para ya da limit yok.",
        "helps": "Başka bir kart isteyin ya da sonra yeniden deneyin.",
        "block": "Ödeyeni engelle", "blocked": "Bundan sonra bu ödeyenin ödemelerini reddederiz.",
        "by": "ada@acme.example", "answer": "Yanıt", "sold": "Ne satıldı",
        "look": "Kaydet ve bir kez daha bak", "draft": "Taslak olarak kaydet",
        "kept": "Taslak saklandı", "submit": "Bankaya gönder",
        "submitted": "Kanıtlar gönderildi",
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def real_hashes(settings: Any) -> None:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]


@pytest.fixture
def owner(acme: Merchant) -> Merchant:
    person(EMAIL, (acme.row, "owner"))
    return acme


def sign_in(page: Page, email: str, language: str = "en") -> None:
    words = WORDS[language]
    page.visit("/panel/")
    page.fill(words["email"], email)
    page.fill(words["password"], PASSWORD)
    page.click(words["sign in"])
    page.see(words["set up"])


def opened(open_page: Callable[..., Page], language: str, look: dict[str, Any]) -> Page:
    page = open_page(locale=LOCALES[language], **look)
    sign_in(page, EMAIL, language)
    return page


def picture(page: Page, name: str, language: str, look: dict[str, Any]) -> None:
    page.keep_picture(f"walk-{name}-{language}-{look['theme']}-{look['width']}")


def paid(acme: Merchant, number: str, email: str, **terms: Any) -> str:
    """Take a payment of 125.00 from somebody; return its id."""
    return str(acme.pay(number, email=email, **terms)["id"])


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_a_payment_is_found_by_email_and_captured_in_part_and_another_canceled(
    owner: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words = DAY[language]
    zeynep = paid(owner, "4242424242424242", "zeynep@x.example", capture_method="manual")
    other = paid(owner, "5555555555554444", "ali@x.example", capture_method="manual")
    page = opened(open_page, language, look)

    page.fill(words["search"], "zeynep@x.example")
    page.press("Enter")
    page.see(zeynep)
    assert other not in page.text
    picture(page, "found", language, look)
    page.click(zeynep)
    page.see("zeynep@x.example")
    page.click(words["capture"])
    page.click_text(words["in part"])
    page.fill(words["amount"], words["wrong"])
    page.click(words["go on"])
    page.see(words["refused"], status=400)
    page.fill(words["amount"], words["part"])
    picture(page, "capture", language, look)
    page.click(words["go on"])
    picture(page, "capture-sure", language, look)
    page.click(words["capture part"])
    page.see(words["captured"])
    assert words["by"] in page.text
    page.click(words["refund"])
    page.check_value("part")
    page.fill(words["amount"], words["some"])
    picture(page, "refund", language, look)
    page.click(words["go on"])
    picture(page, "refund-sure", language, look)
    page.click(words["refund some"])
    page.see(words["given"])
    page.click(words["note"])
    page.fill(words["text"], "They called about it")
    page.click(words["note"])
    page.see(words["noted"])
    picture(page, "payment", language, look)
    page.visit(address("payments", owner.row.id) + "?status=requires_capture")
    assert zeynep not in page.text
    page.visit(address("payment", owner.row.id, other))
    page.click(words["cancel"])
    page.choose(words["reason"], words["twice"])
    page.click(words["cancel"])
    page.see(words["canceled"])

    captured, canceled = (owner.get(f"/v1/payment_intents/{one}") for one in (zeynep, other))
    assert (captured["status"], captured["amount_received"]) == ("succeeded", 5000)
    assert captured["refunded_minor"] == 2000
    assert (canceled["status"], canceled["cancellation_reason"]) == ("canceled", "duplicate")


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_a_declined_payment_is_understood_from_its_page_and_its_payer_blocked(
    owner: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words = DAY[language]
    declined = paid(owner, POOR_CARD, "eve@evil.example")
    page = opened(open_page, language, look)

    page.visit(address("payment", owner.row.id, declined))
    for said in (words["why"], words["helps"], "insufficient_funds"):
        assert said in page.text
    picture(page, "declined", language, look)
    page.click(words["block"])
    page.fill(words["reason"], "Chargebacks")
    picture(page, "block", language, look)
    page.click(words["block"])
    page.see(words["blocked"])

    again = owner.pay(POOR_CARD, email="eve@evil.example")
    assert again["last_payment_error"]["code"] == "fraud_blocked"


def test_a_payment_in_3d_secure_is_followed_while_it_changes(
    owner: Merchant, open_page: Callable[..., Page]
) -> None:
    payment = owner.charge()
    page = opened(open_page, "en", {})
    page.visit(address("payment", owner.row.id, payment.id))
    page.see("The payer is at their bank, to confirm the payment.")
    page.evaluate("window.isTheSamePage = true")

    payer = open_page()
    approve(payer, payment, scripts=True)
    payment.becomes("succeeded")
    page.see("The money was taken.")

    assert page.evaluate("window.isTheSamePage") is True
    assert "The payer came back from their bank." in page.text
    assert page.evaluate("document.getElementById('now').hasAttribute('hx-get')") is False
    # The payment has changed, and the height of all that is told of it.
    findings = page.take_findings().splitlines()
    assert all("the layout shifts" in finding for finding in findings), findings


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_a_dispute_is_answered_by_a_draft_and_a_last_look(
    owner: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    words = DAY[language]
    dispute = THINGS["dispute"](owner.row)
    page = opened(open_page, language, look)

    page.visit(address("dispute", owner.row.id, dispute))
    picture(page, "dispute", language, look)
    page.click(words["answer"])
    page.see(words["draft"])  # Until then the page may be half there, and what is folded with it.
    if not look.get("scripts", True):
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    else:
        page.click_text("More evidence")
    page.fill(words["sold"], "A tea set for six")
    page.click(words["draft"])
    page.see(words["kept"])
    page.click(words["answer"])
    page.click(words["look"])
    page.see("A tea set for six")
    picture(page, "last-look", language, look)
    page.click(words["submit"])

    page.see(words["submitted"])
    assert Dispute.objects.get().evidence["product_description"] == "A tea set for six"


def test_support_is_invited_and_sees_what_support_sees_until_removed(
    owner: Merchant, service: WebProcess, open_page: Callable[..., Page]
) -> None:
    page = opened(open_page, "en", {})
    page.visit(address("invite", owner.row.id))
    page.fill("Password", PASSWORD)
    page.click("Confirm")
    page.fill("E-mail address", "sue@acme.example")
    page.check_value("support")
    page.click("Invite")
    page.see("The invitation is on its way.")
    # Mails of other tests may stand in the same log, and the last line of it may be half written.
    to_sue = r"To: sue@acme\.example\n(?:.*\n)*?"
    link = service.wait_for(to_sue + r"(http://\S+/account/invitations?/[\w-]{20,})\n")

    sue = open_page()
    sue.visit(link)
    sue.fill("Choose a password", PASSWORD)
    sue.click("Open account and join")
    sue.fill("Email", "sue@acme.example")
    sue.fill("Password", PASSWORD)
    sue.click("Sign in")
    sue.see("Set up payments")
    seen = sue.text
    for shown in ("Payments", "Refunds", "Disputes", "Customers", "Request logs", "Events"):
        assert shown in seen
    for hidden in ("API keys", "Balance", "Team", "Audit log", "Websites and callbacks"):
        assert hidden not in seen
    sue.visit(address("keys", owner.row.id), status=403)
    sue.visit(address("payments", owner.row.id))

    member = Member.objects.get(user__email="sue@acme.example")
    page.visit(address("remove_member", owner.row.id, team_addresses.of(member)))
    page.click("Remove")
    page.see("The person was removed.")
    sue.click("Refunds")
    sue.see("Sign in")


def test_an_owner_who_is_removed_elsewhere_does_nothing_more(
    owner: Merchant, open_page: Callable[..., Page]
) -> None:
    payment = paid(owner, "4242424242424242", "zeynep@x.example")
    page = opened(open_page, "en", {})
    page.visit(address("refund_payment", owner.row.id, payment))
    other = person("bob@acme.example", (owner.row, "owner"))

    with transaction.atomic():
        mine = Member.objects.get(user__email=EMAIL)
        team.remove(Member.objects.get(user=other, merchant=owner.row), mine)
    page.click("Go on")
    page.see("Sign in")

    assert owner.get(f"/v1/payment_intents/{payment}")["refunded_minor"] == 0


@pytest.mark.parametrize(("language", "look"), LOOKS)
def test_an_export_has_the_rows_of_the_api(
    owner: Merchant, open_page: Callable[..., Page], language: str, look: dict[str, Any]
) -> None:
    for number in range(5):
        terms = {"amount": 1000 + number, "description": f'=1+{number}; "Çay"\nbardağı'}
        paid(owner, "4242424242424242", "zeynep@x.example", **terms)
    paid(owner, POOR_CARD, "eve@evil.example")
    page = opened(open_page, language, look)
    export = {"en": "Export CSV", "tr": "CSV olarak dışa aktar"}[language]

    page.visit(address("payments", owner.row.id) + "?status=succeeded&sort=amount")
    page.click(export)
    page.fill(WORDS[language]["password"], PASSWORD)
    page.click(WORDS[language]["confirm"])
    page.see("5")
    picture(page, "export", language, look)
    name, content = page.download(export)

    told = owner.get("/v1/payment_intents?status=succeeded&sort=amount")["data"]
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert re.fullmatch(rf"payments_{owner.row.id}_first_\d{{8}}T\d{{6}}Z\.csv", name)
    assert [row["id"] for row in rows] == [one["id"] for one in told]
    for row, one in zip(rows, told, strict=True):
        assert row["amount"] == str(one["amount"])
        assert row["amount_major"] == f"{one['amount'] / 100:.2f}"
        assert (row["status"], row["currency"]) == (one["status"], one["currency"])
        assert row["description"] == f"'{one['description']}"
        assert row["card.last4"] == one["card"]["last4"]


# --- A form that is sent again ------------------------------------------------------------------

BEING_DONE = {"en": "It is being done", "tr": "İşlem sürüyor"}
SEEN = "document.querySelector('input[name=seen]').value"
TOKEN = "document.querySelector('input[name=token]').value"


@pytest.mark.parametrize(("language", "look"), LOOKS[1:])
def test_a_form_whose_first_sending_is_under_way_looks_again_by_itself(
    open_page: Callable[..., Page], owner: Merchant, language: str, look: dict[str, Any]
) -> None:
    words, payment = DAY[language], owner.pay()["id"]
    page = opened(open_page, language, look)
    form = address("refund_payment", owner.row.id, payment)
    page.visit(form)
    page.check_value("part")
    page.fill(words["amount"], words["some"])
    page.click(words["go on"])
    page.see(words["refund some"])
    fields = {"how_much": ["part"], "amount": [words["some"]], "reason": [""]}
    fields["seen"] = [page.evaluate(SEEN)]
    first = under_way(owner, page.evaluate(TOKEN), form, fields)

    page.click(words["refund some"])
    page.see(BEING_DONE[language], status=202)
    picture(page, "being-done", language, look)
    IdempotencyKey.objects.filter(pk=first.pk).update(is_finished=True)

    page.see(words["note"])
    assert page.url.endswith(address("payment", owner.row.id, payment))
    assert owner.get(f"/v1/payment_intents/{payment}")["refunded_minor"] == 0


def under_way(owner: Merchant, token: str, form: str, fields: dict[str, Any]) -> IdempotencyKey:
    """Write down that a form of the owner's was sent, and waits for a bank."""
    user = owner.row.members.get(role="owner", user__email=EMAIL).user_id
    now = timezone.now()
    return IdempotencyKey.objects.create(
        merchant=owner.row, key=once.key_of(token), request_id="req_1", object_id="re_1",
        fingerprint=fingerprint.of(f"POST {form} {user}", fields)[0],
        lease_until=now + timedelta(minutes=1), created_at=now,
    )  # fmt: skip
