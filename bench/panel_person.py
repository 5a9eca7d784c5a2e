"""A person with a browser, who signs in to the panel of a running service."""

import http.client
import re
import time
from ipaddress import ip_address
from itertools import count
from typing import NamedTuple
from urllib.parse import urlencode

from devstack.state import CannotContinue

PATH, AGAIN = "/account/login", "/account/reauthenticate"
RIGHT, BUSY = 302, 503
PATIENCE_SECONDS = 60
# Each sign-in comes from a loopback address of its own: the limit per address is not measured.
ADDRESSES = count(2)
TOKEN = re.compile(rb'csrfmiddlewaretoken" value="(\w+)"')
COOKIE = re.compile(r"(csrftoken|sessionid)=(\w+)")


class SignedIn(NamedTuple):
    """The answer to a sign-in.

    :param ms: how long it took.
    :param retry_after_seconds: when to come back; 0 if the answer does not say.
    :param cookies: that the browser has from then on.
    """

    status: int
    ms: float
    retry_after_seconds: int
    cookies: dict[str, str]


class Person:
    """A person with a right password.

    :param port: of the web process.
    """

    def __init__(self, port: int, told: dict[str, str]) -> None:
        self._port, self._told = port, told
        self._host = f"localhost:{port}"

    def sign_in(self) -> SignedIn:
        """Load the form and send it."""
        line = self._line()
        try:
            token, cookies = self._form(line)
            typed = {"login": self._told["panel_email"], "password": self._told["panel_password"]}
            began = time.perf_counter()
            answer = self._post(line, PATH, cookies, {**typed, "csrfmiddlewaretoken": token})
            answer.read()
            took = (time.perf_counter() - began) * 1000
            wait = int(answer.getheader("Retry-After") or 0)
            return SignedIn(answer.status, took, wait, cookies | _cookies(answer))
        finally:
            line.close()

    def prove(self, cookies: dict[str, str]) -> dict[str, str]:
        """Type the password once more, as pages ask for that give much away; return the cookies.

        :raises CannotContinue: it was not taken.
        """
        line = self._line()
        try:
            token = cookies["csrftoken"]
            typed = {"password": self._told["panel_password"], "csrfmiddlewaretoken": token}
            answer = self._post(line, AGAIN, cookies, typed)
            answer.read()
        finally:
            line.close()
        if answer.status != RIGHT:
            raise CannotContinue(f"{AGAIN} answered {answer.status}.")
        return cookies | _cookies(answer)

    def download(self, path: str, cookies: dict[str, str]) -> bytes:
        """Return the file that a page answers a POST with.

        :raises CannotContinue: it answers none, or does not send it whole.
        """
        line = self._line()
        try:
            form = {"csrfmiddlewaretoken": cookies["csrftoken"]}
            answer = self._post(line, path, cookies, form)
            content = answer.read()
        except http.client.HTTPException as end:
            raise CannotContinue(f"{path} was cut off: {end!r}.") from None
        finally:
            line.close()
        if answer.status != 200 or not answer.getheader("Content-Disposition"):
            raise CannotContinue(f"{path} answered {answer.status} without a file.")
        return content

    def _line(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=PATIENCE_SECONDS, source_address=(_next_address(), 0)
        )

    def _post(
        self,
        line: http.client.HTTPConnection,
        path: str,
        cookies: dict[str, str],
        form: dict[str, str],
    ) -> http.client.HTTPResponse:
        kept = "; ".join(f"{name}={value}" for name, value in cookies.items())
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": kept}
        line.request("POST", path, urlencode(form), self._named(headers))
        return line.getresponse()

    def _form(self, line: http.client.HTTPConnection) -> tuple[str, dict[str, str]]:
        line.request("GET", PATH, headers=self._named({}))
        answer = line.getresponse()
        token, cookies = TOKEN.search(answer.read()), _cookies(answer)
        if not token or not cookies:
            raise CannotContinue(f"{PATH} answered {answer.status} without a form.")
        return token[1].decode(), cookies

    def _named(self, headers: dict[str, str]) -> dict[str, str]:
        return {"Host": self._host, "Accept": "text/html", **headers}


def _cookies(answer: http.client.HTTPResponse) -> dict[str, str]:
    return dict(COOKIE.findall("; ".join(answer.headers.get_all("Set-Cookie") or [])))


def _next_address() -> str:
    """Return another address of this machine, of 16 million."""
    return str(ip_address("127.0.0.0") + next(ADDRESSES))
