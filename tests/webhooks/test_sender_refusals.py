"""Where a delivery may not go: refused where the socket opens, whatever the name said."""

import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.stage.deliveries import post
from tests.stage.receivers import Receiver, name_server, receiver
from webhooks.delivery.http.connections import Names


@pytest.fixture(autouse=True)
def _time_enough(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 30.0


def answering(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


SPELLINGS = """
127.0.0.1 127.1 127.0.1 0x7f.1 0x7f000001 0x7f.0.0.1 2130706433 017700000001 0177.0.0.1 0177.1 0
0.0.0.0 127.0.0.1. 127.1. [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1]
[64:ff9b::127.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:4136:e378:8000:63bf:3fff:fdd2]
[2a00::5efe:127.0.0.1] [fe80::1] [fec0::1] [fd00::1] 169.254.169.254
①②⑦.⓪.⓪.① 127。0。0。1 １２７.0.0.1 localhost LOCALHOST localhost. ip6-localhost
"""


@pytest.fixture(scope="module")
def watched() -> Iterator[Receiver]:
    with receiver() as ours:
        yield ours


@pytest.mark.parametrize("host", SPELLINGS.split())
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_no_spelling_of_an_address_of_ours_is_connected_to(
    scheme: str, host: str, watched: Receiver
) -> None:
    with name_server([]) as names:
        [answer] = post(f"{scheme}://{host}:{watched.port}/", dns=[names.address])

    assert answer.error in ("blocked_address", "dns_error")
    assert watched.connections == 0


@pytest.mark.parametrize("url", ["https://", "nonsense", "https://[1/", "ftp://acme.example/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    assert post(url)[0].error == "blocked_address"


def test_one_bad_address_refuses_the_whole_name() -> None:
    with name_server(["93.184.215.14", "10.0.0.1"]) as names:
        [answer] = post("https://hooks.acme.example/", dns=[names.address])

    assert answer.error == "blocked_address"


def test_a_name_that_changes_its_mind_is_refused_when_it_does(
    watched: Receiver, monkeypatch: Any
) -> None:
    connected_to: list[Any] = []
    monkeypatch.setattr("socket.socket.connect", lambda _socket, place: connected_to.append(place))
    monkeypatch.setattr("webhooks.delivery.http.connections.NAMES_ARE_KEPT_SECONDS", 0)
    with name_server(["93.184.215.14"], ["127.0.0.1"]) as names:
        url = f"https://flips.example:{watched.port}/"
        first, second = post(url, url, dns=[names.address])

    assert [first.error, second.error] == ["connection_error", "blocked_address"]
    assert (connected_to, names.asked) == ([("93.184.215.14", watched.port)], 2)


def test_the_door_itself_refuses_an_address_that_passed_the_look_up(
    watched: Receiver, monkeypatch: Any
) -> None:
    careless = partial(Names, rule=lambda _address: True)
    monkeypatch.setattr(
        "webhooks.delivery.http.sender.Names", lambda servers, **_: careless(servers, seconds=30)
    )
    with name_server(["127.0.0.1"]) as names:
        [answer] = post(f"https://hooks.example:{watched.port}/", dns=[names.address])

    assert answer.error == "blocked_address"
    assert watched.connections == 0


def test_a_name_that_nobody_knows_is_a_dns_error() -> None:
    with name_server([]) as names:
        [answer] = post("https://hooks.acme.example/", dns=[names.address])

    assert (answer.error, answer.was_reached) == ("dns_error", False)


def test_no_search_domain_is_put_behind_a_name(monkeypatch: Any) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "corp.example svc.cluster.local")
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")
    with name_server([]) as names:
        post("https://hooks.acme.example/", dns=[names.address])

    assert set(names.names) == {"hooks.acme.example"}


@pytest.mark.parametrize("name", ["xn--a.example", "xn--a-ecp.example"])
def test_a_name_in_punycode_is_looked_up_as_it_is(name: str) -> None:
    with name_server([]) as names:
        [answer] = post(f"https://{name}/", dns=[names.address])

    assert (answer.error, set(names.names)) == ("dns_error", {name})


def test_a_name_server_that_is_silent_takes_a_part_of_the_deadline(monkeypatch: Any) -> None:
    monkeypatch.setattr("webhooks.delivery.http.sender.NAMES_PART", 0.01)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        [answer] = post("https://hooks.example/", dns=[f"127.0.0.1:{silent.getsockname()[1]}"])

        assert silent.recv(512, socket.MSG_DONTWAIT), "it was not asked"
    # With the whole deadline spent it would be a time-out.
    assert answer.error == "dns_error"


def test_a_developers_own_host_is_exempt_by_name_and_port(settings: Any) -> None:
    with receiver() as theirs, receiver() as neighbour:
        settings.WEBHOOK_DEV_HOSTS = [f"localhost:{theirs.port}"]
        answers = post(
            f"http://localhost:{theirs.port}/", theirs.url, f"http://localhost:{neighbour.port}/"
        )

    assert [answer.error for answer in answers] == [None, "blocked_address", "blocked_address"]
    assert neighbour.connections == 0
