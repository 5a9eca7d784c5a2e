"""A database and a Redis whose certificate has expired: sentences, no traceback, no password."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config import deployment
from core import certificates
from tests.stage.processes import run
from tests.stage.receivers import Authority, Receiver
from tests.stage.redis_places import patient_budget, redis_at
from tests.stage.web_process import Running, WebProcess

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PASSWORD = "correct-horse-battery"
SSL_REQUEST = (80877103).to_bytes(4)
EXPIRED, VALID = -1, 30


class Database(Receiver):
    """Agrees to TLS as PostgreSQL does, and shows its certificate: no more is needed of one."""

    def _talk(self, wire: socket.socket) -> None:
        if wire.recv(8)[4:] == SSL_REQUEST:
            wire.sendall(b"S")
            super()._talk(wire)


@contextmanager
def stores(directory: Path, days: int) -> Iterator[tuple[str, str]]:
    """The addresses of a database and of a Redis with a certificate that is valid for days."""
    authority = Authority(directory)
    trusted = directory / "trusted.pem"
    trusted.write_text(authority.pem)
    tls = authority.server(days=days)
    database, redis = (kind(lambda _wire: None, tls=tls) for kind in (Database, Receiver))
    try:
        yield (
            f"postgresql://app:{PASSWORD}@{database.host}/app"
            f"?sslmode=verify-full&sslrootcert={trusted}",
            f"rediss://:{PASSWORD}@{redis.host}/0?ssl_ca_certs={trusted}",
        )
    finally:
        database.close()
        redis.close()


@pytest.fixture
def expired(tmp_path: Path) -> Iterator[tuple[str, str]]:
    with stores(tmp_path, EXPIRED) as both:
        yield both


def test_the_look_before_the_opening_names_the_databases_certificate(
    expired: tuple[str, str],
) -> None:
    command = ("manage.py", "check", "--deploy", "--database", "default")

    status, said = run(*command, DATABASE_URL=expired[0])

    assert status == 1
    assert "The database's certificate is refused: it is not valid any more" in said
    assert "openssl s_client -starttls postgres" in said
    assert len(said.strip().splitlines()) == 1
    assert "Traceback" not in said
    assert PASSWORD not in said


def test_the_look_before_the_opening_says_that_there_is_no_database() -> None:
    command = ("manage.py", "check", "--deploy", "--database", "default")

    status, said = run(*command, DATABASE_URL=f"postgresql://app:{PASSWORD}@127.0.0.1:9/app")

    assert status == 1
    assert "The database cannot be asked (OperationalError). Look at DATABASE_URL" in said
    assert "Traceback" not in said
    assert PASSWORD not in said


def test_the_look_before_the_opening_names_the_certificate_of_redis(
    expired: tuple[str, str],
) -> None:
    with redis_at(expired[1]), patient_budget():
        [found] = deployment._redis()

    assert found.text == "Redis' certificate is refused: certificate has expired."


def test_a_valid_certificate_is_not_what_is_named(tmp_path: Path) -> None:
    with stores(tmp_path, VALID) as [_database, redis], redis_at(redis), patient_budget():
        [found] = deployment._redis()

    assert found.text == "Redis does not answer, or does not show its settings."
    assert certificates.fault(OSError("it is gone")) is None


def test_web_starts_and_is_not_ready_and_its_log_names_the_certificate(
    expired: tuple[str, str], tmp_path: Path
) -> None:
    web = WebProcess(tmp_path / "web.log", DATABASE_URL=expired[0])
    try:
        answer = web.send(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        fault = web.wait_for(r'"certificate": "([^"]+)", "event": "database_away"')
    finally:
        web.stop()

    assert answer.status == 503
    assert fault.startswith("it is not valid any more")
    assert PASSWORD not in web.log
    assert "Traceback" not in web.log


def test_a_worker_starts_and_its_log_names_both_certificates(
    expired: tuple[str, str], tmp_path: Path
) -> None:
    command = ["celery", "-q", "-A", "config", "worker", "-Q", "default", "-c", "1"]
    database, redis = expired
    worker = Running(tmp_path / "log", command, DATABASE_URL=database, REDIS_URL=redis)
    try:
        worker.wait_for(r'"certificate": "(it is not valid any more)')
        worker.wait_for(r"(certificate has expired)")
    finally:
        worker.stop()

    assert PASSWORD not in worker.log
    assert "Traceback" not in worker.log
