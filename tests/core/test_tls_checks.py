"""`manage.py check --deploy` warns of what leaves the machine without TLS."""

import ssl
from typing import Any

import environ
import pytest
from django.conf import settings
from django.core.checks import run_checks
from kombu import Connection

from core import standby, tls_checks
from core.redis import broker_url

DATABASES = {
    "postgresql://app@db.example/app": True,
    "postgresql://app@10.0.0.7/app?sslmode=prefer": True,
    "postgresql://app@db.example/app?sslmode=allow": True,
    "postgresql://app@/app?host=db.example": True,
    "postgresql://app@/app?host=/run/pg,db.example": True,
    "postgresql://app@localhost/app?hostaddr=10.0.0.7": True,
    "postgresql://app@db.example/app?sslmode=require": False,
    "postgresql://app@db.example/app?sslmode=verify-full": False,
    "postgresql://app@/app?host=/run/pg": False,
    "postgresql://app@%2Frun%2Fpg/app": False,
    "postgresql://app@localhost/app": False,
    "postgresql://app@127.0.0.1:5433/app": False,
    "postgresql://app@[::1]/app": False,
}
MAILS = {
    "smtp://mail.example:25": True,
    "smtp://10.0.0.7:587": True,
    "smtp+tls://mail.example:587": False,
    "smtp+ssl://mail.example:465": False,
    "smtp://localhost:25": False,
    "smtp://127.0.0.1:25": False,
    "filemail:////tmp/mail": False,
}
REDIS = {
    "redis://redis.example/0": True,
    "redis://:password@10.0.0.7:6379": True,
    "rediss://redis.example/0": False,
    "redis+sentinel://127.0.0.1,redis.example/pay": True,
    "redis+sentinel://127.0.0.1,localhost/pay": False,
    "rediss+sentinel://redis.example/pay": False,
    "redis://localhost/0": False,
    "redis://[::1]:6379/0": False,
    "unix:///run/redis.sock": False,
}


def warned() -> list[str]:
    """Return the names of the variables that a warning is about."""
    found = tls_checks.other_hosts_are_reached_by_tls()
    return [one.msg.partition(" ")[0] for one in found]


@pytest.mark.parametrize(("url", "is_open"), DATABASES.items())
def test_a_database_elsewhere_is_reached_by_tls(url: str, *, is_open: bool) -> None:
    assert tls_checks.is_open_on_the_way(environ.Env.db_url_config(url)) is is_open


def test_a_standby_elsewhere_is_named_by_its_own_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = environ.Env.db_url_config("postgresql://app@db2.example/app")
    monkeypatch.setitem(settings.DATABASES, standby.ALIAS, elsewhere)

    assert warned().count("READ_DATABASE_URL") == 1


@pytest.mark.parametrize(("url", "is_warned"), MAILS.items())
def test_a_mail_server_elsewhere_is_reached_by_tls(
    settings: Any, url: str, *, is_warned: bool
) -> None:
    given = {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False, **environ.Env.email_url_config(url)}
    for name, value in given.items():
        setattr(settings, name, value)

    assert ("EMAIL_URL" in warned()) is is_warned


@pytest.mark.parametrize(("url", "is_warned"), REDIS.items())
def test_a_redis_elsewhere_is_reached_by_tls(settings: Any, url: str, *, is_warned: bool) -> None:
    settings.REDIS_URL = url

    assert ("REDIS_URL" in warned()) is is_warned


def test_the_check_of_a_deployment_asks_it_and_shows_no_password(settings: Any) -> None:
    settings.REDIS_URL = "redis://:hunter2@redis.example/0"

    found = [one for one in run_checks(include_deployment_checks=True) if one.id == "core.W003"]

    assert len(found) == 1
    assert "hunter2" not in str(found[0])


@pytest.mark.parametrize(
    ("url", "verified"),
    [
        ("rediss://:password@redis.example:6380/1", ssl.CERT_REQUIRED),
        ("rediss://redis.example/0?ssl_ca_certs=/etc/ca.pem", ssl.CERT_REQUIRED),
        ("rediss://redis.example/0?ssl_cert_reqs=none", ssl.CERT_NONE),
    ],
)
def test_workers_verify_redis_certificate(url: str, verified: ssl.VerifyMode) -> None:
    broker = Connection(broker_url(url))

    assert broker.ssl["ssl_cert_reqs"] == verified
    assert broker.hostname == "redis.example"
    assert broker.ssl.get("ssl_ca_certs") == ("/etc/ca.pem" if "ca_certs" in url else None)


@pytest.mark.parametrize("url", ["redis://redis.example:6379/2", "unix:///run/redis.sock"])
def test_workers_ask_for_no_certificate_where_there_is_none(url: str) -> None:
    assert not Connection(broker_url(url)).ssl
