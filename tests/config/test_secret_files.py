"""Secrets from files (`X_FILE`): one line of a private file, or a sentence and no start."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.settings.installation import SECRETS, Environment
from config.settings.secret_files import BYTES_MAX, with_secrets
from devstack.state import ROOT
from tests.stage.processes import run

WELL = "postgresql://pay:p%40ss@db/pay"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def make(content: bytes, mode: int = 0o400) -> Path:
        path = tmp_path / "secret"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return make


def read(path: Path | str, **others: str) -> dict[str, str]:
    return with_secrets({"DATABASE_URL_FILE": str(path), **others}, SECRETS)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440])
def test_a_file_holds_the_variable(file: Callable[..., Path], end: bytes, mode: int) -> None:
    assert read(file(WELL.encode() + end, mode))["DATABASE_URL"] == WELL


def test_the_address_that_errors_are_reported_to_may_come_from_a_file(
    file: Callable[..., Path],
) -> None:
    dsn = "https://key@sentry.example/1"

    found = with_secrets({"SENTRY_DSN_FILE": str(file(dsn.encode()))}, SECRETS)

    assert found["SENTRY_DSN"] == dsn


def test_without_files_the_environment_is_as_it_was() -> None:
    given = {"DATABASE_URL": WELL, "KEYRING_FILE": "/etc/pay/keyring", "REDIS_URL_FILE": " "}

    assert with_secrets(given, SECRETS) == given


def test_a_value_that_begins_with_a_dollar_is_taken_as_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"SECRET_KEY": "$ecret$of-a-key", "NUMBER": "7"}
    monkeypatch.setattr(Environment, "ENVIRON", given)
    env = Environment()

    assert env.str("SECRET_KEY") == given["SECRET_KEY"]
    assert env.str("SECRET_KEY", default="") == given["SECRET_KEY"]
    assert env.list("SECRET_KEY") == [given["SECRET_KEY"]]
    assert (env.int("NUMBER"), env.int("OTHER", default=3)) == (7, 3)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"  \n", b"one\ntwo\n", b"\n" + WELL.encode(), b"a\0b", b"\xff\xfe", b"x" * 5000],
)
def test_what_is_no_secret_of_one_line_is_refused_and_not_shown(
    file: Callable[..., Path], content: bytes
) -> None:
    path = file(content)

    with pytest.raises(ImproperlyConfigured) as refused:
        read(path)

    assert str(refused.value) == (
        f"DATABASE_URL_FILE: {path} must hold the value in one line of {BYTES_MAX} bytes at most."
    )


@pytest.mark.parametrize("mode", [0o404, 0o644, 0o402, 0o777])
def test_a_file_for_everybody_is_refused(file: Callable[..., Path], mode: int) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"everybody on this host .* chmod o= "):
        read(file(WELL.encode(), mode))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(ImproperlyConfigured, match=f"{path} cannot be read .{reason}"):
            read(path)


def test_both_are_refused(file: Callable[..., Path]) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL or DATABASE_URL_FILE, and not"):
        read(file(WELL.encode()), DATABASE_URL=WELL)


def test_a_file_for_a_variable_that_takes_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"BASE_URL": "https://pay.example", "BASE_URL_FILE": "/run/secrets/base_url"}
    given |= {"KEYRING_FILE": "/etc/pay/keyring", "LOG_LEVEL": "INFO", "LOG_LEVEL_FILE": " "}
    monkeypatch.setattr(Environment, "ENVIRON", given)
    env = Environment()

    assert (env.str("KEYRING_FILE"), env.str("LOG_LEVEL")) == ("/etc/pay/keyring", "INFO")
    with pytest.raises(ImproperlyConfigured, match="^Set BASE_URL itself, and unset BASE_URL_FILE"):
        env.str("BASE_URL")


# --- The list ---------------------------------------------------------------------------------

# Of the names of secrets, and of addresses that may have a password in them.
SECRET_NAME = re.compile(
    r"(?:_KEY|_KEY_FALLBACKS|_PIN|_PASSWORD|_SECRET|_TOKEN|_DSN|_HEADERS"
    r"|DATABASE_URL|REDIS_URL|EMAIL_URL)$"
)
WITH_PASSWORD = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
# Labels of a token and of a key in it.
NAMED_SO = {"PKCS11_TOKEN", "PKCS11_KEY"}
EXAMPLE = (ROOT / ".env.example").read_text()


def secrets_of(example: str) -> set[str]:
    variables = re.findall(r"^#? ?([A-Z][A-Z0-9_]*)=(.*)$", example, re.M)
    return {
        name for name, value in variables if SECRET_NAME.search(name) or WITH_PASSWORD.search(value)
    } - NAMED_SO


def test_every_secret_of_the_example_may_come_from_a_file() -> None:
    planted = "# A_PROXY=http://user:password@proxy\nOTHER_TOKEN=\nSOME_URL=http://proxy:80/a@b\n"

    assert secrets_of(planted) == {"A_PROXY", "OTHER_TOKEN"}
    assert secrets_of(EXAMPLE) == set(SECRETS)


def test_the_pages_list_the_variables_that_files_may_hold() -> None:
    page = (ROOT / "docs/operate/install.md").read_text()
    listed = page.partition("These variables take one:")[2].partition("\n3. ")[0]
    in_example = EXAMPLE.partition("A file for another setting of the application is refused.")[2]

    assert re.findall(r"`([A-Z0-9_]+)`", listed) == re.findall(
        r"[A-Z0-9_]{4,}", in_example.partition("\n# Signs")[0]
    )
    assert set(re.findall(r"`([A-Z0-9_]+)`", listed)) == set(SECRETS)


@pytest.mark.slow
@pytest.mark.django_db(databases=["default", "bank"])
def test_a_process_starts_by_files_alone_and_ends_with_a_sentence(
    file: Callable[..., Path],
) -> None:
    said = "import os, django; django.setup(); from django.conf import settings; "
    said += "print(settings.SECRET_KEY, 'SECRET_KEY' in os.environ and os.environ['SECRET_KEY'])"
    path = file(b"a key of a file\n")

    assert run("-c", said, SECRET_KEY="", SECRET_KEY_FILE=str(path)) == (0, "a key of a file \n")
    path.chmod(0o644)
    status, sentence = run("manage.py", "check", SECRET_KEY="", SECRET_KEY_FILE=str(path))
    assert (status, len(sentence.splitlines())) == (1, 1), sentence
