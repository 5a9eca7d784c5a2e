"""I10 over everything a running installation writes: logs, tables, the write-ahead log, Redis."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import requests
from redis import Redis

from core.keyring.file import content_of
from devstack.servers import SUPERUSER
from devstack.state import data_directory, socket_directory
from tests.stage.checkouts import SESSIONS, of_amount
from tests.stage.factories import payment, payment_method
from tests.stage.payment_pages import Shown
from tests.stage.service import RunningService

pytestmark = [pytest.mark.proof(part="keys"), pytest.mark.timeout(180)]

APPROVED, DECLINED, SILENT, LATER = (
    "5526080000000006", "4000000000009995", "4000001100000017", "4000001100000033",
)  # fmt: skip
HELD, MISPLACED, NOT_LISTED = "5400010000000004", "4603450000000000", "4929111111111113"
NUMBERS = (APPROVED, DECLINED, SILENT, LATER, HELD, MISPLACED, NOT_LISTED)
# A hang is ended after this.
PATIENCE_SECONDS = 120
# The rows of requests that were written after their answers, and the payments still in doubt.
LEFT = """
SELECT (SELECT count(*) FROM merchants_requestlog WHERE kind = 'api'),
    (SELECT count(*) FROM intents_paymentintent WHERE status = 'processing')
"""
WRONG_KEY = "sk_sandbox_" + "A" * 43 + "000000"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    service = RunningService(tmp_path / "state")
    try:
        service.start()
        yield service
    finally:
        service.stop()
        service.call("reset")


def spellings(secret: str) -> list[bytes]:
    """Return the ways a secret may lie in a file; each is looked for as it is."""
    spaced = [" ".join(secret), "-".join(secret)]
    if secret.isdigit():
        groups = [secret[i : i + 4] for i in range(0, len(secret), 4)]
        spaced += [" ".join(groups), "-".join(groups), "%20".join(groups), "+".join(groups)]
    encoded = "".join(f"%{ord(character):02X}" for character in secret)
    plain = [secret, secret[::-1], quote(secret), encoded, secret.encode().hex(), *spaced]
    return [text.encode() for text in plain] + list(base64_parts(secret.encode()))


def base64_parts(raw: bytes) -> Iterator[bytes]:
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + raw)
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def make_traffic(service: RunningService) -> int:
    """Pay, fail and be refused in every way over real HTTP; return how many requests to the API."""
    path = "/v1/payment_intents"
    held = payment(payment_method_data=payment_method(HELD), confirm=False)
    calls: list[tuple[str, str, Any]] = [
        *[("POST", path, payment(number)) for number in (APPROVED, DECLINED, SILENT, LATER)],
        ("POST", path, held),
        ("POST", path, payment(NOT_LISTED)),
        ("POST", path, payment(description=f"paid with {MISPLACED}")),
        ("POST", path, payment(metadata={"card": MISPLACED, "cvc": "937"})),
        ("POST", path, payment(number=MISPLACED, cvc="937")),
        ("POST", path, json.dumps(payment(MISPLACED))[:-2]),
        ("GET", f"{path}/{MISPLACED}", None),
        ("GET", f"{path}?q={'%20'.join([MISPLACED[:4], MISPLACED[4:]])}", None),
        ("GET", f"/{MISPLACED}", None),
    ]
    for method, place, body in calls:
        sent = body if isinstance(body, str) else json.dumps(body) if body else None
        headers = {"Authorization": f"Bearer {service.key}", "Content-Type": "application/json"}
        for key in ({}, {"Idempotency-Key": f"k {len(place)} {MISPLACED if body else ''}"}):
            url = service.base_url + place
            requests.request(method, url, data=sent, headers={**headers, **key}, timeout=30)
    for wrong in (WRONG_KEY, service.key[:-1], f"{service.key}x"):
        requests.get(
            f"{service.base_url}/v1/balance",
            headers={"Authorization": f"Bearer {wrong}"},
            timeout=10,
        )
    # One more is the page to pay on, which ./dev up makes.
    api = sum(place.startswith("/v1/") for _method, place, _body in calls) * 2 + 3 + 1
    return api + press_at_pages(service)


def press_at_pages(service: RunningService) -> int:
    """Type cards into right and wrong fields of pages; return how many sessions were made."""
    typed: list[dict[str, str]] = [
        *[{"number": number} for number in (APPROVED, DECLINED, SILENT, LATER, NOT_LISTED)],
        {"number": HELD, "email": ""},
        *[{name: MISPLACED} for name in ("cvc", "exp_month", "name", "email", "city", "note_2")],
    ]
    for one in typed:
        made = requests.post(
            service.base_url + SESSIONS,
            json=of_amount(),
            headers={"Authorization": f"Bearer {service.key}"},
            timeout=PATIENCE_SECONDS,
        ).json()
        page = requests.get(made["url"], timeout=PATIENCE_SECONDS)
        form = Shown(page.status_code, page.headers, page.text)
        fields = form.filled(**one)
        for query in ("", f"?number={MISPLACED}"):
            answer = requests.post(
                f"{service.base_url}{form.action}{query}",
                fields,
                headers={"Referer": f"https://x.example/{MISPLACED}"},
                cookies={"card": MISPLACED},
                allow_redirects=False,
                timeout=PATIENCE_SECONDS,
            )
            assert answer.status_code in (200, 303, 400), (one, answer.status_code)
    return len(typed)


def files_of(service: RunningService) -> Iterator[Path]:
    """Yield every file that the installation wrote, but the one that is made to show the key."""
    places = {
        service.state, data_directory(service.state), socket_directory(service.state),
        service.log.parent,
    }  # fmt: skip
    for place in places:
        for file in place.rglob("*"):
            if file.is_file() and file.name not in ("demo.json", "up.log"):
                yield file


def printed_by(service: RunningService) -> bytes:
    """Return what the processes logged; the greeting shows the demo's key and its curl."""
    before, _, after = service.log.read_text().partition("Ready after")
    return (
        before + after.partition("\nTake a first payment by the API:")[2].partition("}'")[2]
    ).encode()


def leaks(texts: dict[str, bytes], secrets: list[str]) -> list[str]:
    wanted = {spelling: secret for secret in secrets for spelling in spellings(secret)}
    return [
        f"{place} has {wanted[spelling][:6]}… as {spelling[:12]!r}…"
        for place, text in texts.items()
        for spelling in wanted
        if spelling in text
    ]


def test_no_file_of_a_running_installation_shows_a_number_or_a_key(
    service: RunningService,
) -> None:
    requested = make_traffic(service)
    _await_all_that_follows(service, requested)
    # Everything that waits in memory goes to its file: tables, log, and what Redis holds.
    _checkpoint(service)

    texts = {str(file): file.read_bytes() for file in files_of(service)}
    texts["the processes' log"] = printed_by(service)
    texts["redis"] = _redis_dump(service)
    # Wrapped keys say nothing of those that they wrap; so the ring's own file is read, too.
    kek_file = service.state / "kek"
    keyring = content_of(service.state / "keyring", kek_file=kek_file)
    keks = [line.split()[-1] for line in texts.pop(str(kek_file)).decode().splitlines()]
    secrets = [
        *NUMBERS,
        service.key,
        *keyring["encryption"].values(),
        *keyring["mac"].values(),
        *keks,
    ]

    size = sum(len(text) for text in texts.values())
    print(f"{requested} requests, {len(texts)} files, {size >> 20} MiB searched")  # noqa: T201
    assert size > 1 << 20
    assert b"POST /v1/payment_intents" in texts["the processes' log"]
    assert b'"event": "request"' in texts[str(service.state / "log" / "web.log")]
    assert b"pi_" in b"".join(texts.values())
    assert leaks(texts, secrets) == []


def test_the_search_finds_what_is_planted() -> None:
    for spelling in spellings(APPROVED) + spellings(WRONG_KEY):
        assert leaks({"planted": b"\x00 " + spelling + b" \x00"}, [APPROVED, WRONG_KEY])


def _await_all_that_follows(service: RunningService, requested: int) -> None:
    """Return when each request has its row, and the bank has been asked about each payment."""
    service.call("run", "python", "manage.py", "clock", "advance", "1m")
    deadline = time.monotonic() + PATIENCE_SECONDS
    with _connected(service) as connection:
        while (left := connection.execute(LEFT).fetchone()) != (requested, 0):
            assert time.monotonic() < deadline, (left, requested)
            time.sleep(0.05)


def _checkpoint(service: RunningService) -> None:
    with _connected(service, user=SUPERUSER) as connection:
        connection.execute("CHECKPOINT")


def _connected(service: RunningService, **other: str) -> psycopg.Connection:
    url = service.call("run", "sh", "-c", "printf %s $DATABASE_URL").stdout
    return psycopg.connect(url, autocommit=True, **other)


def _redis_dump(service: RunningService) -> bytes:
    url = service.call("run", "sh", "-c", "printf %s $REDIS_URL").stdout
    redis = Redis.from_url(url, socket_timeout=10)
    names = redis.keys("*")
    assert names, "no code of a card was held"
    return b"\n".join(name + b" " + redis.dump(name) for name in names)
