"""A key in clear is in the processes that need it, and nowhere else while payments go on."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from django.db import connection

from core import redis
from core.keyring.file import content_of
from tests.stage.client import ApiClient
from tests.stage.factories import payment, unconfirmed
from tests.stage.key_change import KeyChange
from tests.stage.key_sweep import Sweep, disks, servers
from tests.stage.lengths import tried
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.proof(part="keys"),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


@pytest.fixture
def web(key_change: KeyChange, tmp_path: Path, acme: ApiClient) -> Iterator[WebProcess]:
    """A web process that has taken payments, with cards, codes and answers."""
    web = WebProcess(tmp_path / "logs" / "web.log", KEYRING_FILE=str(key_change.path))
    for number, body in enumerate([payment(), unconfirmed(), payment("no card")]):
        headers = {"Authorization": f"Bearer {acme.key}", "Idempotency-Key": str(number)}
        requests.post(
            f"{web.url}/v1/payment_intents", json=body, headers=headers, timeout=PATIENCE_SECONDS
        )
    yield web
    web.stop()


@pytest.fixture(autouse=True)
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def found_anywhere(sweep: Sweep, logs: Path, ring: Path) -> dict[str, set[str]]:
    """Return by place the keys in clear where none belongs."""
    found = {
        f"{name} {pid}": sweep.of_process(pid) for name, pids in servers().items() for pid in pids
    }
    found |= {str(one): sweep.of_directory(one) for one in disks(logs, ring.parent)}
    return {place: names for place, names in found.items() if names}


def test_no_key_is_in_clear_but_in_the_processes_that_need_it(
    web: WebProcess, logs: Path, key_change: KeyChange
) -> None:
    sweep = Sweep(key_change.path)
    [worker] = web.workers()

    assert sweep.of_process(worker.pid) == set(sweep.needles.values())
    assert sweep.of_file(Path(f"/proc/{worker.pid}/environ")) == set()
    assert found_anywhere(sweep, logs, key_change.path) == {}
    tried(sweep.bytes_read // 1_000_000, "megabytes searched for keys")


def _in_redis(key: bytes, _logs: Path) -> None:
    redis.call(lambda client: client.set("planted", key, ex=60))


def _in_a_log(key: bytes, logs: Path) -> None:
    (logs / "web.log").write_bytes(b"x" * 1000 + key.hex().encode())


def _in_the_database(key: bytes, _logs: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE planted AS SELECT %s AS kept", [key])
        cursor.execute("SELECT length(%s::bytea || kept) FROM planted", [key])


@pytest.mark.parametrize("plant", [_in_redis, _in_a_log, _in_the_database])
def test_a_key_that_is_planted_is_found(
    plant: Callable[[bytes, Path], None], logs: Path, key_change: KeyChange
) -> None:
    sweep = Sweep(key_change.path)
    plant(base64.b64decode(content_of(key_change.path)["mac"]["link"]), logs)

    found = found_anywhere(sweep, logs, key_change.path)

    assert set().union(*found.values()) == {"link"}
    print(found)  # noqa: T201
