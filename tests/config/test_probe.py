"""The look of `check` through the proxy: real nginx, a real web process, the real command."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.signing import TimestampSigner
from django.test import Client

from config import probe
from core.keyring import ring
from tests.stage.front_proxies import Nginx
from tests.stage.processes import run
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# By this name the command reaches nginx.
HOST = "localhost"
TLS = {"BASE_URL": f"https://{HOST}", "PANEL_URL": f"https://{HOST}"}
ADDS = "X-Forwarded-For   $proxy_add_x_forwarded_for"
TELLS_OF_TLS = "X-Forwarded-Proto https;"
WITH_PORT = {ADDS: "X-Forwarded-For   $remote_addr:$remote_port"}
# Settings of the service, changes of nginx's file, and what is found.
BEHIND: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "all is well": ({"BEHIND_PROXY": "true"}, {}, []),
    "its own header": ({"BEHIND_PROXY": "true"}, {ADDS: "X-Forwarded-For   $remote_addr"}, []),
    "no BEHIND_PROXY": ({}, {}, ["E014"]),
    "TLS that a client claims": (
        {"BEHIND_PROXY": "true"},
        {TELLS_OF_TLS: "X-Forwarded-Proto $http_x_forwarded_proto;"},
        ["E014"],
    ),
    "a proxy too many": ({"PROXY_HOPS": "2"}, {}, ["E025"]),
    "an address that a client claims": (
        {"BEHIND_PROXY": "true"},
        {f"    proxy_set_header         {ADDS};\n": ""},
        ["E025"],
    ),
    "no address": ({"BEHIND_PROXY": "true"}, {ADDS: 'X-Forwarded-For   ""'}, ["E025"]),
    "an address with a port": ({"BEHIND_PROXY": "true"}, WITH_PORT, ["E025"]),
    "a proxy that is not counted": (
        {"BEHIND_PROXY": "true"},
        {ADDS: 'X-Forwarded-For   "$proxy_add_x_forwarded_for, 10.0.0.7"'},
        ["E025"],
    ),
}

Web = Callable[[dict[str, str]], WebProcess]


@pytest.fixture(scope="module")
def web(django_db_setup: None, django_db_blocker, tmp_path_factory) -> Iterator[Web]:
    """Start web processes with settings of the test's own, each once."""
    ring()
    started: dict[tuple[tuple[str, str], ...], WebProcess] = {}

    def start(settings: dict[str, str]) -> WebProcess:
        kind = tuple(settings.items())
        if kind not in started:
            log = tmp_path_factory.mktemp("web") / "log"
            started[kind] = WebProcess(log, **TLS, **settings)
        return started[kind]

    with django_db_blocker.unblock():
        yield start
        for process in started.values():
            process.stop()


@pytest.mark.slow
@pytest.mark.every_case("each proxy is looked through")
@pytest.mark.parametrize("case", BEHIND)
def test_check_sees_how_requests_come_through_the_proxy(
    case: str, web: Web, tmp_path: Path
) -> None:
    settings, changed, wanted = BEHIND[case]
    nginx = Nginx(tmp_path, web(settings).address, host=HOST, changed=changed)
    try:
        said = _checked(settings, nginx, nginx)
    finally:
        nginx.stop()

    assert [name for name, _ in said] == wanted, said


@pytest.mark.slow
@pytest.mark.every_case("each way to the panel is looked through")
@pytest.mark.parametrize("case", ["all is well", "TLS that a client claims", "no address"])
def test_check_looks_through_the_panels_own_proxy(case: str, web: Web, tmp_path: Path) -> None:
    settings, changed, wanted = BEHIND[case]
    for place in (at := tmp_path / "api", by := tmp_path / "panel"):
        place.mkdir()
    api = Nginx(at, web(settings).address, host=HOST)
    panel = Nginx(by, web(settings).address, host=HOST, changed=changed)
    try:
        said = _checked(settings, api, panel)
    finally:
        api.stop()
        panel.stop()

    assert [name for name, _ in said] == wanted, said
    assert all(f"https://{HOST}:{panel.tls}" in text for _, text in said)


def _checked(settings: dict[str, str], api: Nginx, panel: Nginx) -> list[tuple[str, str]]:
    """Return each finding about the way in, and its line."""
    trusted = panel.home / "authorities.pem"
    trusted.write_text(api.authority.pem + panel.authority.pem)
    own = {
        "BASE_URL": f"https://{HOST}:{api.tls}",
        "PANEL_URL": f"https://{HOST}:{panel.tls}",
        "REQUESTS_CA_BUNDLE": str(trusted),
        "no_proxy": HOST,  # The developer's own would answer for it.
    }
    command = ("manage.py", "check", "--deploy", "--database", "default")
    _, said = run(*command, **{**TLS, **settings, **own})
    return re.findall(r"config\.([EW]0(?:13|14|15|24|25))\b(.*)", said)


@pytest.mark.every_case("each is another way without a right token")
@pytest.mark.parametrize("token", [None, "", "proxy", "signed for something else"])
def test_others_do_not_learn_how_they_are_seen(token: str | None) -> None:
    if token == "signed for something else":
        token = TimestampSigner(salt="other").sign("proxy")
    sent = {} if token is None else {probe.TOKEN: token}

    answer = Client(headers=sent).get("/v1/balance")

    assert answer.status_code == 401
    assert [name for name in answer.headers if "probe" in name.lower()] == []


def test_a_token_is_good_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = {**probe.headers(), "X-Forwarded-For": "203.0.113.9, 203.0.113.10"}
    seen = Client(headers=sent).get("/v1/balance")
    monkeypatch.setattr(probe, "TOKEN_SECONDS", -1)
    late = Client(headers=sent).get("/v1/balance")

    assert seen[probe.SEEN] == "127.0.0.1"
    assert seen[probe.PASSED_ON] == "203.0.113.9, 203.0.113.10"
    assert (late.status_code, late.has_header(probe.SEEN)) == (401, False)
