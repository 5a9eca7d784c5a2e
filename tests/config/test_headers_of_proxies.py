"""Headers that a proxy may set: the server in front of the application believes none of them.

Only `BEHIND_PROXY` decides, and it believes two: X-Forwarded-Proto and X-Forwarded-For.
"""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gunicorn.config import Config

from config import strict_http
from core.keyring import ring
from tests.stage.emptying import empty
from tests.stage.processes import run
from tests.stage.web_process import RawAnswer, Running, WebProcess

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

# gunicorn believes its neighbours on the loopback by default; here it is told to believe everybody.
EVERYBODY = {"FORWARDED_ALLOW_IPS": "*"}
HTTPS_ONLY = {"BASE_URL": "https://127.0.0.1"}
SIGN_IN = "/account/login"


@pytest.fixture(scope="module")
def servers(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[Any]:
    """Start web processes with settings of the test's own, each once."""
    ring()
    started: dict[tuple[tuple[str, str], ...], WebProcess] = {}

    def server(**settings: str) -> WebProcess:
        kind = tuple(sorted(settings.items()))
        if kind not in started:
            log = tmp_path_factory.mktemp("web") / "log"
            started[kind] = WebProcess(log, **EVERYBODY, **settings)
        return started[kind]

    with django_db_blocker.unblock():
        yield server
        for process in started.values():
            process.stop()
        empty("default")


def get(server: WebProcess, path: str, *headers: str) -> RawAnswer:
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
    return server.send("\r\n".join([*lines, "", ""]).encode())


def address_seen(server: WebProcess, *headers: str) -> str:
    """Return where the access log says that a request with these headers came from."""
    request_id = get(server, "/nothing", *headers).headers["Request-Id"]
    server.wait_for(rf'"request_id": ?"({request_id})"')
    lines = [json.loads(line) for line in server.log.splitlines() if request_id in line]
    return next(line["ip"] for line in lines if line.get("logger") == "access")


# --- Where the application lies -----------------------------------------------------------------

OF_A_PATH = [
    "SCRIPT_NAME: {}",
    "Script-Name: {}",
    "X-Script-Name: {}",
    "PATH_INFO: {}",
    "Path-Info: {}",
    "X-Forwarded-Prefix: {}",
    "X-Original-URL: {}",
    "X-Rewrite-URL: {}",
    "X_Forwarded_Prefix: {}",
]


@pytest.mark.parametrize("header", OF_A_PATH)
@pytest.mark.parametrize("settings", [{}, {"BEHIND_PROXY": "true"}], ids=["alone", "behind"])
def test_no_header_moves_the_application(servers: Any, settings: Any, header: str) -> None:
    server = servers(**settings)

    moved = [get(server, path, header.format("/zzz")).status for path in ("/livez", SIGN_IN)]
    below = get(server, f"/v1{SIGN_IN}", header.format("/v1"))

    assert moved == [200, 200]
    assert (below.status, below.error["code"]) == (404, "url_not_found")


def test_no_header_reaches_the_admin_past_the_rules_for_its_path(servers: Any) -> None:
    for header in OF_A_PATH:
        for prefix in ("/v1", "/3ds", "/static"):
            for path in ("/admin/", SIGN_IN):
                answer = get(servers(), prefix + path, header.format(prefix))
                assert answer.status == 404, (header, prefix, path)


# --- How it was asked, and by whom ----------------------------------------------------------------

OF_TLS = [
    "X-Forwarded-Proto: https",
    "X-Forwarded-Protocol: ssl",
    "X-Forwarded-Ssl: on",
    "X-Forwarded-Scheme: https",
    "X-Url-Scheme: https",
    "Front-End-Https: on",
    "X_Forwarded_Proto: https",
    "Forwarded: proto=https",
]


@pytest.mark.parametrize("header", OF_TLS)
def test_no_header_makes_plain_http_safe(servers: Any, header: str) -> None:
    answer = get(servers(**HTTPS_ONLY), SIGN_IN, header)

    assert (answer.status, answer.headers["Location"]) == (301, f"https://127.0.0.1{SIGN_IN}")


@pytest.mark.parametrize("header", OF_TLS)
def test_behind_a_proxy_one_header_says_that_it_was_https(servers: Any, header: str) -> None:
    answer = get(servers(**HTTPS_ONLY, BEHIND_PROXY="true"), SIGN_IN, header)

    # Safe, it leads on to the sign-in at the panel's own host.
    assert answer.status == (302 if header.startswith("X-Forwarded-Proto:") else 301)


def test_headers_that_contradict_each_other_are_no_error(servers: Any) -> None:
    told = [header for header in OF_TLS if not header.startswith("X-Forwarded-Proto")]

    assert get(servers(), SIGN_IN, *told, "X-Forwarded-Proto: http").status == 200


OF_AN_ADDRESS = [
    "X-Forwarded-For: 203.0.113.7",
    "X_Forwarded_For: 203.0.113.7",
    "X-Real-IP: 203.0.113.7",
    "Forwarded: for=203.0.113.7",
    "Remote-Addr: 203.0.113.7",
    "REMOTE_ADDR: 203.0.113.7",
    "X-Client-IP: 203.0.113.7",
]


@pytest.mark.parametrize("header", OF_AN_ADDRESS)
def test_a_client_does_not_say_where_it_comes_from(servers: Any, header: str) -> None:
    assert address_seen(servers(), header) == "127.0.0.1"


@pytest.mark.parametrize("header", OF_AN_ADDRESS)
def test_behind_a_proxy_one_header_says_where_it_comes_from(servers: Any, header: str) -> None:
    seen = address_seen(servers(BEHIND_PROXY="true"), header)

    assert seen == ("203.0.113.7" if header.startswith("X-Forwarded-For:") else "127.0.0.1")


def test_of_several_lines_the_last_address_is_the_proxys(servers: Any) -> None:
    told = ["X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 198.51.100.2, 203.0.113.7"]

    assert address_seen(servers(BEHIND_PROXY="true"), *told) == "203.0.113.7"


LINES_BEFORE = {
    "v1": b"PROXY TCP4 203.0.113.7 127.0.0.1 4711 80\r\n",
    "v2": b"\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c\xcb\0q\x07\x7f\0\0\x01\x12g\0P",
}


@pytest.mark.parametrize("version", LINES_BEFORE)
def test_the_proxy_protocol_is_no_request(servers: Any, version: str) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    answer = servers(BEHIND_PROXY="true").send(LINES_BEFORE[version] + request)

    assert (answer.status, answer.error["code"]) == (400, "parameter_invalid")


OF_A_HOST = ["X-Forwarded-Host: {}", "X-Host: {}", "X-Forwarded-Server: {}", "Forwarded: host={}"]


@pytest.mark.parametrize("header", OF_A_HOST)
def test_no_header_gives_the_service_another_name(servers: Any, header: str) -> None:
    for settings in (HTTPS_ONLY, {**HTTPS_ONLY, "BEHIND_PROXY": "true"}):
        told = [header.format("evil.example"), "X-Forwarded-Port: 4711"]
        answer = get(servers(**settings), SIGN_IN, *told)
        assert (answer.status, answer.headers["Location"]) == (301, f"https://127.0.0.1{SIGN_IN}")


# --- An operator cannot lose it -------------------------------------------------------------------

OPTIONS = {
    "--forwarded-allow-ips=*": "forwarded_allow_ips",
    "--forwarder-headers=SCRIPT_NAME": "forwarder_headers",
    "--header-map=dangerous": "header_map",
    "--proxy-protocol=auto": "proxy_protocol",
    "--proxy-allow-from=*": "proxy_allow_ips",
    "--protocol=uwsgi": "protocol",
    "--uwsgi-allow-from=*": "uwsgi_allow_ips",
    "--http2-cleartext=both": "http2_cleartext",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_no_option_makes_gunicorn_believe_somebody(option: str) -> None:
    configured = Config()
    for name, value in strict_http.TRUST_NO_PEER.items():
        configured.set(name, value)
    strict_http.require_trust_in_no_peer(configured)
    name = OPTIONS[option]
    configured.set(name, getattr(configured.parser().parse_args([option]), name))

    with pytest.raises(RuntimeError, match=f"without the option for {name}, and set BEHIND_PROXY"):
        strict_http.require_trust_in_no_peer(configured)


@pytest.mark.parametrize("place", ["command line", "environment"])
def test_gunicorn_does_not_start_when_it_is_told_to_believe_somebody(place: str) -> None:
    command = ["-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
    option = "--forwarded-allow-ips=*"
    told = {"GUNICORN_CMD_ARGS": option} if place == "environment" else {}
    command += [] if told else [option]

    status, said = run(*command, patience_seconds=30, WEB_BIND="127.0.0.1:0", **told)

    assert status == 1
    assert "without the option for forwarded_allow_ips, and set BEHIND_PROXY" in said


# --- Other ways in --------------------------------------------------------------------------------


@pytest.fixture
def behind_a_socket(servers: Any, tmp_path: Path) -> Iterator[Path]:
    """A web process on a unix socket: gunicorn believes whoever may open it."""
    place = tmp_path / "web.sock"
    command = ["gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
    server = Running(tmp_path / "log", command, WEB_BIND=f"unix:{place}", WEB_WORKERS="1")
    server.wait_for(r"Booting worker with pid: (\d+)")
    yield place
    server.stop()


@pytest.mark.parametrize("header", ["SCRIPT_NAME: /zzz", "SCRIPT_NAME: /v1"])
def test_a_neighbour_on_a_unix_socket_is_not_believed(behind_a_socket: Path, header: str) -> None:
    for path, status in {"/livez": 200, "/v1/admin/": 404, "/v1/balance": 401}.items():
        with socket.socket(socket.AF_UNIX) as wire:
            wire.connect(str(behind_a_socket))
            wire.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n\r\n".encode())
            assert RawAnswer.read(wire).status == status


@pytest.mark.parametrize(
    ("application", "prefix"), [("config.wsgi", "/v1"), ("testbank.wsgi", "/acs")]
)
def test_a_server_without_our_configuration_takes_no_front_off_a_path(
    django_db_blocker: Any, tmp_path: Path, application: str, prefix: str
) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text("bind = '127.0.0.1:0'\n")

    with django_db_blocker.unblock():
        server = WebProcess(tmp_path / "log", application, str(plain))
    answer = get(server, f"{prefix}/livez", f"SCRIPT_NAME: {prefix}")
    server.stop()

    assert answer.status == 404
