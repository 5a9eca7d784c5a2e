"""Sandbox and live installations, started for real beside each other on one database."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from devstack.state import ROOT
from merchants import keys
from tests.stage.emptying import empty
from tests.stage.factories import open_merchant, payment
from tests.stage.live import COLLECTED
from tests.stage.processes import PATIENCE_SECONDS
from tests.stage.web_process import environment

# The databases are made for the tests that are marked; nothing here uses a transaction of its own.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

LIVE = {
    "INSTALLATION": "live",
    "STATIC_ROOT": str(COLLECTED),
    "BASE_URL": "https://pay.example",
    "EMAIL_URL": "smtp+tls://pay:password@mail.example:587",
}
NO_TEST_BANK = dict.fromkeys(["BANK_DATABASE_URL", "TESTBANK_URL", "TESTBANK_SIGNING_KEY"])
FOREIGN = "sk_test_" + "a" * 49
ASK = """
import json, sys
import config.wsgi
from django.apps import apps
from django.conf import settings
from django.test import Client
from payments.intents.models import PaymentIntent
from vault.models import SealedCard

http = Client(raise_request_exception=False)
asked = json.loads(sys.argv[1])
intent_id = "pi_x"
answers = {}
for name, (key, method, path, body) in asked.items():
    headers = {"authorization": f"Bearer {key}", "host": settings.ALLOWED_HOSTS[0]}
    answer = http.generic(
        method, path.format(intent=intent_id), json.dumps(body), "application/json",
        headers=headers, secure=settings.BASE_URL.startswith("https"),
    )
    told = answer.json()
    intent_id = told["id"] if told.get("object") == "payment_intent" else intent_id
    answers[name] = {"status": answer.status_code, "headers": dict(answer.headers), "body": told}
print(json.dumps({
    "apps": [app.label for app in apps.get_app_configs()],
    "databases": list(settings.DATABASES),
    "stored": [PaymentIntent.objects.count(), SealedCard.objects.count()],
    "answers": answers,
}))
"""


def questions(own_key: str, other_key: str) -> dict[str, list[Any]]:
    bare = {"amount": 1, "currency": "try"}
    return {
        "other key": [other_key, "GET", "/v1/balance", {}],
        "foreign key": [FOREIGN, "GET", "/v1/balance", {}],
        "customer": [own_key, "POST", "/v1/customers", {"email": "ada@example.com"}],
        "payment": [own_key, "POST", "/v1/payment_intents", bare],
        "merchant": [own_key, "GET", "/v1/merchant", {}],
        "balance": [own_key, "GET", "/v1/balance", {}],
        "events": [own_key, "GET", "/v1/events", {}],
        "bank's address": [own_key, "POST", "/authorizations", {}],
        "create and confirm": [own_key, "POST", "/v1/payment_intents", payment()],
        "create with card": [own_key, "POST", "/v1/payment_intents", payment(confirm=False)],
        "confirm": [own_key, "POST", "/v1/payment_intents/{intent}/confirm", {}],
    }


def start(code: str, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess:
    """Run code in a process with the environment changed; None takes a variable away."""
    variables = {**environment(), "LOG_LEVEL": "CRITICAL", **changes}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture(scope="module")
def told(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Run a live and a sandbox installation; return their answers, by `live` and `sandbox`."""
    with django_db_blocker.unblock():
        opened = open_merchant("Acme Store", website="https://acme.example")
        with override_settings(LIVEMODE=True):
            _key, live_key = keys.create(opened.merchant, name="live")
        asked = {
            "live": (questions(live_key, opened.secret_key), {**LIVE, **NO_TEST_BANK}),
            "sandbox": (questions(opened.secret_key, live_key), {}),
        }
        runs = {
            name: start(ASK, json.dumps(questions), **changes)
            for name, (questions, changes) in asked.items()
        }
        yield {name: json.loads(run.stdout or run.stderr) for name, run in runs.items()}
        empty("default")


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("installation", ["live", "sandbox"])
@pytest.mark.parametrize("key", ["other key", "foreign key"])
def test_each_installation_takes_its_own_keys_and_no_others(
    told: dict[str, Any], installation: str, key: str
) -> None:
    own, other = told[installation]["answers"]["balance"], told[installation]["answers"][key]

    assert own["status"] == 200
    assert (other["status"], other["body"]["error"]["code"]) == (401, "api_key_invalid")
    assert "WWW-Authenticate" in other["headers"]


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(("installation", "livemode"), [("live", True), ("sandbox", False)])
@pytest.mark.parametrize("name", ["customer", "payment", "merchant", "balance"])
def test_livemode_follows_the_installation(
    told: dict[str, Any], name: str, installation: str, *, livemode: bool
) -> None:
    assert told[installation]["answers"][name]["body"]["livemode"] is livemode


def test_livemode_of_events_follows_the_installation(told: dict[str, Any]) -> None:
    for event in told["live"]["answers"]["events"]["body"]["data"]:
        assert event["livemode"] is event["data"]["object"]["livemode"] is True


def test_a_live_installation_has_nothing_of_the_test_bank(told: dict[str, Any]) -> None:
    assert "testbank" not in told["live"]["apps"]
    assert "testbank" in told["sandbox"]["apps"]
    assert told["live"]["databases"] == ["default"]
    assert told["live"]["answers"]["bank's address"]["status"] == 404
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    assert "intents_paymentintent" in tables
    assert not [table for table in tables if table.startswith("testbank")]


def test_the_test_bank_does_not_start_in_a_live_installation() -> None:
    done = start("import testbank.wsgi", **LIVE)

    assert done.returncode != 0
    assert "INSTALLATION=sandbox" in done.stderr


@pytest.mark.parametrize("name", ["create and confirm", "create with card", "confirm"])
def test_a_live_installation_without_an_acquirer_refuses_before_anything_is_stored(
    told: dict[str, Any], name: str
) -> None:
    refused = told["live"]["answers"][name]

    assert (refused["status"], refused["body"]["error"]["code"]) == (503, "upstream_unavailable")
    assert refused["headers"]["Retry-After"] == "3600"
    # The payment without a card, and nothing else.
    assert told["live"]["stored"] == [1, 0]


# --- Starting -------------------------------------------------------------------------------

START = "import django; django.setup()"
NEEDED = [
    "BASE_URL",
    "SECRET_KEY",
    "KEYRING_FILE",
    "DATABASE_URL",
    "BANK_DATABASE_URL",
    "TESTBANK_SIGNING_KEY",
    "REDIS_URL",
]


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, None) for name in NEEDED), ("SECRET_KEY", " "), ("DATABASE_URL", "")],
)
def test_a_missing_setting_stops_the_start_with_the_sentence_that_fixes_it(
    name: str, value: str | None
) -> None:
    done = start(START, **{name: value})

    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert f"Set {name} to " in last
    assert last.endswith(".")


SANDBOX = "acquirers.sandbox"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"INSTALLATION": "test"}, "Set INSTALLATION to sandbox or live."),
        ({"BASE_URL": "pay.example"}, "Set BASE_URL to "),
        ({"DATABASE_URL": "mysql://app:hunter2@db/app"}, "Set DATABASE_URL to "),
        ({"REDIS_URL": "http://app:hunter2@redis"}, "Set REDIS_URL to "),
        (
            {"REDIS_URL": "redis://one:6379,two:6379/0"},
            "Set REDIS_URL to the address of one server",
        ),
        (
            {"REDIS_URL": "redis+sentinel://:hunter2@one,two"},
            "REDIS_URL names Sentinels in another",
        ),
        ({"METRICS_BIND": "9464"}, "Set METRICS_BIND to host:port"),
        ({**LIVE, "BASE_URL": "http://pay.example"}, "Set BASE_URL to "),
        ({"KEK_PROVIDER": "usb"}, "Set KEK_PROVIDER to file, components or pkcs11."),
        ({"KEK_PROVIDER": "pkcs11"}, "Set PKCS11_MODULE to "),
        ({**LIVE, "KEK_PROVIDER": "file"}, "Set KEK_PROVIDER to components: "),
        ({"TESTBANK_PUBLIC_URL": "bank.example"}, "Set TESTBANK_PUBLIC_URL to "),
        ({**LIVE, "EMAIL_URL": "memorymail://"}, "Set EMAIL_URL to "),
        ({**LIVE, "SECRET_KEY": "hunter2"}, "Set SECRET_KEY to "),
        ({**LIVE, "TRANSFERS": f"{SANDBOX}.transfers.SandboxTransfers"}, "Set TRANSFERS to "),
        ({**LIVE, "DEMO_FILE": "/srv/demo.json"}, "Unset DEMO_FILE"),
        ({**LIVE, "ACQUIRERS": f"x={SANDBOX}.gateway.SandboxGateway"}, "Set ACQUIRERS x to "),
    ],
)
def test_a_setting_that_cannot_be_stops_the_start(changes: dict[str, str], sentence: str) -> None:
    done = start(START, **changes)

    assert done.returncode != 0
    assert sentence in done.stderr
    assert "hunter2" not in done.stderr


def test_the_web_process_does_not_start_without_its_key_ring() -> None:
    done = start("import config.wsgi", KEYRING_FILE="/nonexistent/keyring")

    assert done.returncode != 0
    assert "KEYRING_FILE" in done.stderr


def test_a_live_web_process_does_not_start_without_its_static_files(tmp_path: Path) -> None:
    bare = start("import config.wsgi", **{**LIVE, "STATIC_ROOT": str(tmp_path)})
    sandbox = start("import config.wsgi", STATIC_ROOT=str(tmp_path))

    assert bare.returncode != 0
    assert f"no static files in {tmp_path}: run manage.py collectstatic." in bare.stderr
    assert sandbox.returncode == 0, sandbox.stderr


@pytest.mark.parametrize(("changes", "limits"), [({}, [25, 30]), (LIVE, [100, 30])])
def test_an_installations_rate_limits(changes: dict[str, str], limits: list[int]) -> None:
    names = ["RATE_LIMIT_PER_SECOND", "FAILED_AUTHENTICATIONS_PER_MINUTE"]
    ask = f"from django.conf import settings as s; print([getattr(s, name) for name in {names}])"

    done = start(ask, **dict.fromkeys(names), **changes)

    assert json.loads(done.stdout) == limits
