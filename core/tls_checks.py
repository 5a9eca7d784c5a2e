"""Checks of a deployment: what goes to another host without TLS can be read on the way."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as DeployWarning

from core import redis_sentinels

# Of libpq: with any other one the server may leave TLS out ("prefer" is the default).
SSL_MODES = ("require", "verify-ca", "verify-full")
HERE = ("", "localhost")


def other_hosts_are_reached_by_tls(**_kwargs: Any) -> list[CheckMessage]:
    """Warn of mails, databases and Redis at another host, to which the way has no TLS."""
    found = [*_mail(), *_databases(), *_redis()]
    return [
        DeployWarning(f"{name} leads to another host without TLS: {wanted}.", id=f"core.{code}")
        for name, wanted, code in found
    ]


def _mail() -> Iterator[tuple[str, str, str]]:
    is_by_smtp = settings.EMAIL_BACKEND.endswith("smtp.EmailBackend")
    has_tls = settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL
    if is_by_smtp and not has_tls and not _is_here(settings.EMAIL_HOST or ""):
        yield "EMAIL_URL", "begin it with smtp+tls:// or smtp+ssl://", "W001"


def _databases() -> Iterator[tuple[str, str, str]]:
    names = {
        "default": "DATABASE_URL", "standby": "READ_DATABASE_URL", "bank": "BANK_DATABASE_URL",
    }  # fmt: skip
    for alias, database in settings.DATABASES.items():
        if is_open_on_the_way(database):
            yield names[alias], "end it with ?sslmode=verify-full, or require", "W002"


def is_open_on_the_way(database: Mapping[str, Any]) -> bool:
    """Return whether a database of the settings is at another host, and TLS may be left out."""
    options = database.get("OPTIONS", {})
    given = (options.get("hostaddr"), options.get("host"), database.get("HOST"))
    hosts = next((one for one in given if one), "")
    is_here = all(_is_here(unquote(host)) for host in hosts.split(","))
    return not is_here and options.get("sslmode") not in SSL_MODES


def _redis() -> Iterator[tuple[str, str, str]]:
    url = settings.REDIS_URL
    if redis_sentinels.is_watched(url):
        watched = redis_sentinels.read(url)
        if watched.tls is None and not all(_is_here(host) for host, _port in watched.sentinels):
            yield "REDIS_URL", "begin it with rediss+sentinel://", "W003"
        return
    parts = urlsplit(url)
    if parts.scheme == "redis" and not _is_here(parts.hostname or ""):
        yield "REDIS_URL", "begin it with rediss://", "W003"


def _is_here(host: str) -> bool:
    """Return whether a host is this machine: a socket's path, or a loopback's name or address."""
    if host.lower() in HERE or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
