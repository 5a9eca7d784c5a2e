"""A live installation as its clients meet it: a proxy ends TLS, the panel has its own host."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

from core.keyring import ring
from merchants.models import ApiKey, User
from tests.stage import second_factors
from tests.stage.factories import payment, three_d_secure
from tests.stage.oldbank import gate_walk
from tests.stage.oldbank.live import ADAPTER
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import KIND, add_terminal
from tests.stage.payer import FORM, Page
from tests.stage.visitors import NAME as OPERATOR
from tests.stage.visitors import PASSWORD
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

# The third one is of an operator who has given the API another name.
API, PANEL, ALSO_API = "pay.example", "panel.example", "api.pay.example"
# A list of static files, without which a live web process does not start; no test asks for one.
COLLECTED = Path(__file__).parent / "collected"
SETTINGS = {
    "INSTALLATION": "live",
    "STATIC_ROOT": str(COLLECTED),
    "BASE_URL": f"https://{API}",
    "PANEL_URL": f"https://{PANEL}",
    "ALLOWED_HOSTS": ALSO_API,
    "BEHIND_PROXY": "true",
    "ACQUIRERS": f"{KIND}={ADAPTER}",
    # Port 1: each mail fails at once.
    "EMAIL_URL": "smtp://127.0.0.1:1",
    # A body that the server waited for would end a test by its own patience.
    "WEB_READ_SECONDS": str(10 * PATIENCE_SECONDS),
}
BY_TLS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
SHOP = "https://acme.example"
SIGN_IN = "/account/login"


class Answer(NamedTuple):
    """An answer with all of its headers, for several cookies have one name."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes

    def header(self, name: str) -> str | None:
        return next((value for one, value in self.headers if one.lower() == name.lower()), None)

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.content)

    @property
    def refusal(self) -> tuple[int, str]:
        return self.status, self.body["error"]["code"]


class LiveInstallation:
    """One web process, its merchant Acme, and the bank behind it."""

    def __init__(self, web: WebProcess, opened: dict[str, str]) -> None:
        self.web, self.merchant_id, self.key = web, opened["merchant_id"], opened["secret_key"]
        self.key_id = ApiKey.objects.get(merchant_id=self.merchant_id).id
        self.owner = User.objects.get(email=opened["panel_email"])
        self.password = opened["panel_password"]

    def ask(
        self, method: str, path: str, body: bytes = b"", *, host: str = API, **headers: str | None
    ) -> Answer:
        """Send a request as the proxy hands it on; a header that is None is left out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Host": host, **BY_TLS, **named}
        wire = HTTPConnection("127.0.0.1", self.web.port, timeout=PATIENCE_SECONDS)
        try:
            present = {name: value for name, value in sent.items() if value is not None}
            wire.request(method, path, body or None, present)
            return _read(wire.getresponse())
        finally:
            wire.close()

    def call(self, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
        """Call the API with Acme's key."""
        named = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        raw = b"" if body is None else json.dumps(body).encode()
        return self.ask(method, path, raw, **{**named, **headers})

    def challenge(self) -> dict[str, Any]:
        """Make a payment whose payer has to go to the bank."""
        told = payment(return_url=f"{SHOP}/back", **three_d_secure("required"))
        return self.call("POST", "/v1/payment_intents", told).body


class Browser:
    """A person's browser at one host; it knows cookies, and where its forms come from."""

    def __init__(self, live: LiveInstallation, host: str) -> None:
        self.live, self.host = live, host
        self.cookies: SimpleCookie = SimpleCookie()

    def get(self, path: str, **headers: str) -> Answer:
        return self._send("GET", path, b"", **headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """Send a form as the page at this host would."""
        token = next((one.value for one in self.cookies.values() if "csrf" in one.key), "")
        body = urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
        said = {"Origin": f"https://{self.host}", "Content-Type": FORM, **headers}
        return self._send("POST", path, body, **said)

    def sign_in(self, email: str, password: str) -> list[str | None]:
        """Sign in with password and code; return where each step leads."""
        self.get(SIGN_IN)
        asked = self.post(SIGN_IN, {"login": email, "password": password})
        if (step := asked.header("Location")) != second_factors.CODE:
            return [step, None]
        return [step, self._send_code().header("Location")]

    def _send_code(self) -> Answer:
        """Send the code that the app shows, and the next one if it has changed meanwhile."""
        while True:
            shown = second_factors.code()
            answer = self.post(second_factors.CODE, {"code": shown})
            if answer.header("Location") or shown == second_factors.code():
                return answer

    def _send(self, method: str, path: str, body: bytes, **headers: str) -> Answer:
        kept = "; ".join(f"{one.key}={one.value}" for one in self.cookies.values())
        said = {"Cookie": kept, "Accept": "text/html", "Host": self.host, **headers}
        answer = self.live.ask(method, path, body, **said)
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                self.cookies.load(value)
        return answer


def _read(response: HTTPResponse) -> Answer:
    return Answer(response.status, response.getheaders(), response.read())


def pay(live: LiveInstallation, challenge: dict[str, Any]) -> Answer:
    """Walk the payer's way: our page, the bank's gate, and back to us."""
    url = urlsplit(challenge["next_action"]["redirect_to_url"]["url"])
    payer = Browser(live, url.netloc)
    payer.get(url.path)
    shown = payer.post(url.path, {})
    gate = Page(shown.status, dict(shown.headers), shown.content).form
    back = urlsplit((posting := gate_walk.walk(gate.action, gate.fields)).url)
    said = {"Content-Type": FORM, "Origin": "null"}
    return live.ask("POST", back.path, posting.body, host=back.netloc, **said)


@contextmanager
def live_installation(directory: Path, bank: OldBank) -> Iterator[LiveInstallation]:
    """Run it, with Acme opened by an operator's commands and the old bank behind it."""
    ring()
    bank.reset()
    with override_settings(ACQUIRERS={**settings.ACQUIRERS, KIND: ADAPTER}):
        add_terminal(bank)
    live = LiveInstallation(WebProcess(directory / "live.log", **SETTINGS), _open_acme())
    try:
        yield live
    finally:
        live.web.stop()


def _open_acme() -> dict[str, str]:
    """Open an account as an operator does, and give it what a live one has to be given.

    Its owner has an authenticator app, and the operator has none yet.
    """
    with override_settings(LIVEMODE=True, PASSWORD_HASHERS=["merchants.passwords.Argon2InTurn"]):
        made = ["--name", "Acme Store", "--email", "owner@acme.example", "--website", SHOP]
        opened = json.loads(_command("create_merchant", *made, "--json"))
        merchant, why = opened["merchant_id"], ("--reason", "Contract signed.")
        price = '[{"currency": "try", "bps": 250, "fixed": 25}]'
        _command("merchant", "prices", merchant, price, *why)
        _command("merchant", "status", merchant, "active", *why)
        # The owner has chosen this one.
        User.objects.update(is_password_printed=False)
        User.objects.create_superuser(OPERATOR, PASSWORD)
    second_factors.add_app(User.objects.get(email=opened["panel_email"]))
    return opened


def _command(*words: str) -> str:
    said = StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()
