"""A password alone opens nothing where there is a second factor (docs/reference/signing-in.md)."""

from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.urls import get_resolver
from django.utils import timezone

from merchants.models import AuditEntry, Session, User
from payments.checkout import links
from tests.stage import checkouts, second_factors
from tests.stage.bank_transport import BankTransport
from tests.stage.books import everything_cached
from tests.stage.client import ApiClient
from tests.stage.passkeys import Passkey
from tests.stage.second_factors import (
    AGAIN,
    CODE,
    CODE_AGAIN,
    SEED,
    add_app,
    add_recovery_codes,
    code,
    half_signed_in,
    send_code,
    wrong_code,
)
from tests.stage.stores import everything_kept, rows_of
from tests.stage.visitors import HTML, NAME, PASSWORD, RIGHT, WRONG, Visitor, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture(autouse=True)
def _no_code_ends_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = second_factors.time.time()
    monkeypatch.setattr(second_factors.time, "time", lambda: now)


ADD_APP, REMOVE_APP = "/account/authenticator", "/account/authenticator/remove"
CODES, NEW_CODES = "/account/recovery-codes", "/account/recovery-codes/new"
ACCOUNT = "/account/security"


@pytest.fixture
def operator(db: None) -> User:
    return an_operator()


@pytest.fixture
def inside(operator: User) -> Visitor:
    """A browser that is signed in, and has just proved its password again."""
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    visitor.http.post(AGAIN, {"password": PASSWORD})
    return visitor


def actions() -> list[str]:
    return [*AuditEntry.objects.order_by("created_at", "sequence").values_list("action", flat=True)]


def waiting_codes(times: int) -> set[int]:
    """Type wrong codes, each from an address of its own and after the right password."""
    return {
        send_code(half_signed_in(NAME, f"198.51.100.{number}"), wrong_code())
        for number in range(times)
    }


# --- An app -----------------------------------------------------------------------------------


def test_an_app_is_added_with_its_first_code_and_codes_are_shown_once(inside: Visitor) -> None:
    page = inside.http.get(ADD_APP)
    secret = page.context["form"].secret

    answer = inside.http.post(ADD_APP, {"code": code(secret)})

    assert answer.headers["Location"] == CODES
    first, second = inside.http.get(CODES), inside.http.get(CODES)
    [made] = Authenticator.objects.filter(type="recovery_codes")
    codes = made.wrap().get_unused_codes()
    assert all(one in first.content.decode() for one in codes)
    assert not any(one in second.content.decode() for one in codes)
    assert "mfa.added" in actions()


def test_a_password_alone_is_half_a_sign_in(operator: User) -> None:
    add_app(operator)

    visitor = half_signed_in(NAME)

    assert not visitor.is_inside()
    assert send_code(visitor, code()) == RIGHT
    assert visitor.is_inside()


def test_a_half_finished_sign_in_opens_no_page(operator: User) -> None:
    add_app(operator)
    visitor = half_signed_in(NAME)

    for path in sorted(_addresses()):
        answer = visitor.http.get(path, headers=HTML)

        opened = answer.status_code == 200 and path not in OPEN_TO_ALL
        assert not opened, path


def test_of_ten_wrong_codes_the_last_locks(operator: User) -> None:
    add_app(operator)

    assert waiting_codes(10) == {WRONG}

    operator.refresh_from_db()
    assert operator.wrong_in_a_row == 10
    assert Visitor("198.51.100.200").sign_in(PASSWORD).status_code == WRONG
    assert actions().count("sign_in.locked") == 1
    assert [sent.to for sent in mail.outbox] == [[NAME]]


def test_wrong_passwords_and_codes_are_counted_together(operator: User) -> None:
    add_app(operator)
    visitor = half_signed_in(NAME)
    for number in range(5):
        Visitor(f"198.51.100.{number}").sign_in("wrong")
    waiting_codes(5)

    assert send_code(visitor, code()) == WRONG


def test_a_right_password_lets_no_more_codes_be_guessed(operator: User) -> None:
    add_app(operator)
    waiting_codes(9)
    half_signed_in(NAME, "198.51.100.201")
    operator.refresh_from_db()

    assert operator.wrong_in_a_row == 9


def test_a_complete_sign_in_forgets_what_was_wrong(operator: User) -> None:
    add_app(operator)
    waiting_codes(9)

    send_code(half_signed_in(NAME, "198.51.100.202"), code())

    operator.refresh_from_db()
    assert operator.wrong_in_a_row == 0


def test_a_code_works_once(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_factors.time, "time", lambda: 1_800_000_000.0)
    add_app(operator)
    first, second = half_signed_in(NAME), half_signed_in(NAME)

    assert send_code(first, code()) == RIGHT
    assert send_code(second, code()) == WRONG


def test_the_code_before_is_too_old(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    add_app(operator)
    visitor = half_signed_in(NAME)
    shown = code()
    now = second_factors.time.time()
    monkeypatch.setattr(second_factors.time, "time", lambda: now + 30)

    assert send_code(visitor, shown) == WRONG


def test_a_recovery_code_works_once(operator: User) -> None:
    add_app(operator)
    [spare, *_] = add_recovery_codes(operator)

    assert send_code(half_signed_in(NAME), spare) == RIGHT
    assert send_code(half_signed_in(NAME, "203.0.113.8"), spare) == WRONG


def test_removing_the_app_takes_its_codes_along(operator: User) -> None:
    add_app(operator)
    [spare, *_] = add_recovery_codes(operator)
    visitor = half_signed_in(NAME)
    send_code(visitor, code())
    visitor.http.post(CODE_AGAIN, {"code": spare})

    visitor.http.post(REMOVE_APP)

    assert not Authenticator.objects.exists()
    assert actions()[-1] == "mfa.removed"


def test_a_change_of_factors_ends_other_sessions(inside: Visitor) -> None:
    other = Visitor("203.0.113.9")
    other.sign_in(PASSWORD)
    secret = inside.http.get(ADD_APP).context["form"].secret

    inside.http.post(ADD_APP, {"code": code(secret)})

    assert inside.is_inside()
    assert not other.is_inside()


def test_a_change_of_factors_asks_for_the_password_again(operator: User) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)

    asked = visitor.http.post(ADD_APP, {"code": "123456"})

    assert (asked.status_code, asked.headers["Location"]) == (
        303,
        f"{AGAIN}?next=%2Faccount%2Fauthenticator",
    )
    assert "account_reauthentication_state" not in visitor.http.session


def test_the_code_that_added_an_app_is_used_up(inside: Visitor) -> None:
    secret = inside.http.get(ADD_APP).context["form"].secret
    typed = code(secret)

    inside.http.post(ADD_APP, {"code": typed})

    assert send_code(half_signed_in(NAME, "203.0.113.8"), typed) == WRONG
    assert inside.http.post(CODE_AGAIN, {"code": typed}).status_code == WRONG


def test_a_new_password_needs_the_second_factor_too(operator: User) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    [spare, again, *_] = _with_app_and_codes(operator)

    asked = visitor.change_password(PASSWORD)
    visitor.http.post(CODE_AGAIN, {"code": spare})
    changed = visitor.change_password(PASSWORD)

    assert asked.headers["Location"] == f"{CODE_AGAIN}?next=%2Faccount%2Fpassword"
    assert changed.headers["Location"] == ACCOUNT
    assert actions().count("password.changed") == 1
    # A code proves once.
    assert visitor.http.post(CODE_AGAIN, {"code": spare}).status_code == WRONG
    assert visitor.http.post(CODE_AGAIN, {"code": again}).status_code == RIGHT


def _with_app_and_codes(user: User) -> list[str]:
    add_app(user)
    return add_recovery_codes(user)


def test_whoever_has_passkeys_alone_is_asked_for_one_before_a_recovery_code(
    operator: User,
) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    Passkey(operator)
    add_recovery_codes(operator)

    asked = visitor.http.get(ADD_APP)

    assert asked.headers["Location"].startswith("/account/passkeys/again?next=")
    assert CODE_AGAIN in visitor.http.get(asked.headers["Location"]).content.decode()


# --- Where one is required --------------------------------------------------------------------


@pytest.fixture
def required(settings: Any) -> None:
    settings.SECOND_FACTOR = "required"


@pytest.mark.usefixtures("required")
@pytest.mark.parametrize("path", ["/admin/", "/panel/", "/panel/mer_1", "/account/sessions"])
def test_without_the_required_factor_every_page_leads_to_making_one(
    operator: User, path: str
) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)

    for answer in (visitor.http.get(path), visitor.http.post(path)):
        assert (answer.status_code, answer.headers["Location"]) == (303, ACCOUNT)
    assert visitor.http.get(ACCOUNT).status_code == 200


@pytest.mark.usefixtures("required")
def test_with_the_required_factor_pages_open(operator: User) -> None:
    add_app(operator)
    visitor = half_signed_in(NAME)
    send_code(visitor, code())

    assert visitor.is_inside()


def test_operators_need_one_in_live_whatever_is_set(operator: User, settings: Any) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    assert visitor.is_inside()

    settings.LIVEMODE = True

    assert not visitor.is_inside()


# --- The password -----------------------------------------------------------------------------


def reset_link() -> str:
    [sent] = [one for one in mail.outbox if "/password/reset/" in one.body]
    [link] = [line for line in sent.body.splitlines() if "/password/reset/" in line]
    return link


def set_by_link(visitor: Visitor, link: str, new: str = "another long password") -> Any:
    path = "/" + link.split("/", 3)[3]
    form = visitor.http.get(path)
    return visitor.http.post(form.url, {"password1": new, "password2": new})


def test_a_reset_keeps_the_second_factor_and_the_lock(operator: User) -> None:
    add_app(operator)
    visitor = Visitor()
    visitor.http.post("/account/password/reset", {"email": NAME})

    set_by_link(visitor, reset_link())

    answer = Visitor("203.0.113.8").sign_in("another long password")
    assert answer.headers["Location"] == CODE
    assert "password.changed" in actions()


def test_a_link_works_once(operator: User) -> None:
    visitor = Visitor()
    visitor.http.post("/account/password/reset", {"email": NAME})
    link = reset_link()
    set_by_link(visitor, link)

    again = visitor.http.get("/" + link.split("/", 3)[3])

    assert again.status_code == 200
    assert "was used before" in again.content.decode()


def test_a_reset_ends_all_sessions_and_half_finished_sign_ins(operator: User) -> None:
    inside, visitor = Visitor("203.0.113.8"), Visitor()
    inside.sign_in(PASSWORD)
    add_app(operator)
    half = half_signed_in(NAME, "203.0.113.9")
    visitor.http.post("/account/password/reset", {"email": NAME})

    set_by_link(visitor, reset_link())

    assert not inside.is_inside()
    assert send_code(half, code()) == RIGHT  # To the sign-in.
    assert not half.is_inside()


def test_known_unknown_and_locked_addresses_read_alike(operator: User) -> None:
    def ask(email: str) -> Any:
        return Visitor().http.post("/account/password/reset", {"email": email})

    answers = [ask(NAME), ask("nobody@example.com")]
    User.objects.update(wrong_in_a_row=10, locked_until=timezone.now() + timedelta(minutes=20))
    answers.append(ask(NAME))

    assert len({(one.status_code, one.headers["Location"]) for one in answers}) == 1
    assert [one.to for one in mail.outbox] == [[NAME], [NAME]]


@pytest.mark.parametrize("host", ["evil.example", "localhost:8000@evil.example"])
def test_a_poisoned_host_is_in_no_mail(operator: User, host: str) -> None:
    answer = Visitor().http.post("/account/password/reset", {"email": NAME}, headers={"host": host})

    assert answer.status_code == 400
    assert mail.outbox == []


def test_links_are_of_the_panels_own_address(operator: User, settings: Any) -> None:
    settings.PANEL_URL = "https://panel.example"

    Visitor().http.post("/account/password/reset", {"email": NAME})

    assert reset_link().startswith("https://panel.example/account/password/reset/")


# --- Led on ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example", "/\\evil.example", "https:evil.example", "javascript:alert(1)",
        "https://evil.example/", "\\\\evil.example", "///evil.example", " //evil.example",
        "http://localhost/panel/", "/\t/evil.example",
    ],
)  # fmt: skip
def test_nobody_is_led_elsewhere(operator: User, address: str) -> None:
    typed = {"login": NAME, "password": PASSWORD, "next": address}

    answer = Visitor().http.post("/account/login", typed)

    assert answer.status_code == RIGHT
    assert answer.headers["Location"] == "/admin/"


def test_a_page_that_was_asked_for_is_where_the_sign_in_leads(operator: User) -> None:
    typed = {"login": NAME, "password": PASSWORD, "next": "/panel/mer_1/keys?x=1"}

    assert Visitor().http.post("/account/login", typed).url == "/panel/mer_1/keys?x=1"


def test_the_desk_signs_in_where_all_do(operator: User) -> None:
    visitor = Visitor()

    assert visitor.http.get("/admin/login/").url == "/account/login?next=/admin/"
    assert visitor.http.get("/admin/").url.startswith("/admin/login/?next=/admin/")
    visitor.sign_in(PASSWORD)
    assert visitor.http.post("/admin/logout/", follow=True).status_code == 200
    assert not visitor.is_inside()


@pytest.mark.parametrize(
    ("networks", "status"), [([], 200), (["203.0.113.0/24"], 200), (["10.0.0.0/8"], 404)]
)
def test_the_desk_is_there_for_its_networks_alone(
    operator: User, settings: Any, networks: list[str], status: int
) -> None:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)

    settings.OPERATOR_NETWORKS = [ip_network(network) for network in networks]

    assert visitor.http.get("/admin/", headers=HTML).status_code == status
    if status == 404:
        assert Visitor().http.get("/admin/login/", headers=HTML).status_code == 404


@pytest.mark.parametrize(
    ("address", "network", "is_there"),
    [
        ("::ffff:203.0.113.7", "203.0.113.0/24", True),
        ("0:0:0:0:0:FFFF:cb00:7107", "203.0.113.7", True),
        ("203.0.113.7", "::ffff:203.0.113.0/120", True),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.7", True),
        ("2001:db8::7", "2001:db8::/32", True),
        ("203.0.113.7", "::/0", True),
        ("::ffff:198.51.100.7", "203.0.113.0/24", False),
        ("198.51.100.7", "::ffff:203.0.113.0/120", False),
        ("2001:db8::7", "::ffff:0.0.0.0/96", False),
        ("2001:db8::7", "0.0.0.0/0", False),
    ],
)
def test_an_ipv4_address_is_the_same_however_a_socket_or_a_setting_writes_it(
    settings: Any, address: str, network: str, *, is_there: bool
) -> None:
    settings.OPERATOR_NETWORKS = [ip_network(network)]

    answer = Visitor(address).http.get("/admin/login/", headers=HTML)

    assert answer.status_code == (302 if is_there else 404)


@pytest.fixture
def apart(settings: Any) -> None:
    """The panel has a host of its own."""
    settings.ALLOWED_HOSTS = ["panel.example", "pay.example"]
    settings.PANEL_URL, settings.LIVEMODE = "https://panel.example", True
    settings.PANEL_AT, settings.API_AT = "panel.example", "pay.example"


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("path", ["/panel/", "/account/login?next=/x", "/admin/"])
def test_a_page_at_the_apis_host_is_at_the_panels(path: str) -> None:
    answer = Visitor().http.get(path, headers={"host": "pay.example"})

    assert answer.url == f"https://panel.example{path}"


@pytest.mark.usefixtures("apart")
def test_the_api_is_not_at_the_panels_host() -> None:
    http = Visitor().http

    asked = {host: http.get("/v1/balance", headers={"host": host}) for host in HOSTS}

    assert [asked[host].status_code for host in HOSTS] == [404, 401]


def test_a_payment_page_is_not_at_the_panels_host(
    acme: ApiClient, bank: BankTransport, request: pytest.FixtureRequest
) -> None:
    path = links.path(checkouts.opened(acme)["id"])
    request.getfixturevalue("apart")
    http = Visitor().http

    asked = {host: http.get(path, headers={"host": host, **HTML}) for host in HOSTS}

    assert [asked[host].status_code for host in HOSTS] == [404, 203]


HOSTS = ("panel.example", "pay.example")


# --- Secrets, and rows -------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_secrets_of_second_factors_are_kept_nowhere_in_clear(
    inside: Visitor, capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    secret = inside.http.get(ADD_APP).context["form"].secret
    # The session has the seed that is not yet activated, sealed.
    before = "".join([*rows_of("default"), *everything_cached()])
    typed = code(secret)
    inside.http.post(ADD_APP, {"code": typed})
    codes = Authenticator.objects.get(type="recovery_codes").wrap().generate_codes()
    inside.http.get(CODES)
    visitor = Visitor("203.0.113.8")
    visitor.sign_in(PASSWORD)
    send_code(visitor, codes[0])
    add_app(an_operator("second@example.com"))

    written = before + everything_kept() + caplog.text + "".join(capsys.readouterr())

    assert "mfa.added" in written
    assert mail.outbox
    for canary in (secret, SEED, typed, *codes, PASSWORD):
        assert canary not in written, canary


def test_nobody_is_found_by_an_address_of_alls_own_table(operator: User) -> None:
    Visitor().http.post("/account/password/reset", {"email": NAME})
    set_by_link(Visitor(), reset_link())
    half = Visitor()
    half.sign_in("another long password")

    assert not EmailAddress.objects.exists()


def test_a_sign_in_is_a_row_of_the_person(operator: User) -> None:
    Visitor().sign_in(PASSWORD)

    row = AuditEntry.objects.get(action="sign_in.succeeded")

    assert (row.chain, row.actor, row.actor_name) == (f"user:{operator.pk}", "user", NAME)
    assert row.address == "203.0.113.7"


def test_signing_out_and_ending_are_rows_of_the_person(operator: User) -> None:
    visitor, other = Visitor(), Visitor("203.0.113.8")
    visitor.sign_in(PASSWORD)
    other.sign_in(PASSWORD)
    visitor.http.post("/account/sessions", {"session": "others"})
    assert not other.is_inside()
    visitor.http.post("/account/logout")

    assert actions()[-2:] == ["session.ended", "session.ended"]
    assert not Session.objects.exists()


def test_somebody_elses_session_is_not_ended(operator: User) -> None:
    stranger, visitor = Visitor("203.0.113.8"), Visitor()
    an_operator("second@example.com")
    stranger.sign_in(PASSWORD, "second@example.com")
    visitor.sign_in(PASSWORD)
    [theirs] = Session.objects.exclude(user=operator)

    visitor.http.post("/account/sessions", {"session": theirs.session_key})

    assert stranger.is_inside()


# Pages that anybody may open.
OPEN_TO_ALL = {
    "/", "/healthz", "/livez", "/readyz",
    "/openapi.json", "/docs/errors", "/account/password/reset",
    "/account/password/reset/sent", "/account/password/reset/done", "/account/inactive", CODE,
    "/account/login", "/robots.txt", "/favicon.ico", "/.well-known/security.txt",
}  # fmt: skip


def _addresses(patterns: Any = None, prefix: str = "/") -> set[str]:
    """Return every address without a parameter; those with one are asked for with `x`."""
    found: set[str] = set()
    for one in patterns if patterns is not None else get_resolver().url_patterns:
        route = str(one.pattern)
        if "(?P" in route or "^" in route or "$" in route:
            continue
        for name in ("<str:merchant>", "<int:pk>"):
            route = route.replace(name, "1")
        if hasattr(one, "url_patterns"):
            found |= _addresses(one.url_patterns, prefix + route)
        elif "<" not in route and not route.startswith("v1/"):
            found.add(prefix + route)
    return {path for path in found if not path.startswith("/v1")}
