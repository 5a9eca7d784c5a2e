"""People at the sign-in: they type a name and a password, from some address."""

from typing import Any

from django.test import Client

from merchants.models import User

HTML = {"accept": "text/html"}
NAME, PASSWORD = "operator@example.com", "a long enough password"
SIGN_IN, CHANGE, INSIDE = "/account/login", "/account/password", "/admin/"
# Answers are pages whatever happens: whoever signs in is led on.
WRONG, RIGHT = 200, 302


def an_operator(email: str = NAME) -> User:
    return User.objects.create_superuser(email, PASSWORD)


class Visitor:
    """A browser, which keeps its cookies."""

    def __init__(self, address: str = "203.0.113.7") -> None:
        self.http = Client(raise_request_exception=False, REMOTE_ADDR=address)

    def sign_in(self, password: str = "wrong", name: str = NAME) -> Any:
        typed = {"login": name, "password": password, "next": INSIDE}
        return self.http.post(SIGN_IN, typed, headers=HTML)

    def change_password(self, old: str, new: str = "another long password") -> Any:
        typed = {"oldpassword": old, "password1": new, "password2": new}
        return self.http.post(CHANGE, typed, headers=HTML)

    def is_inside(self) -> bool:
        return self.http.get(INSIDE, headers=HTML).status_code == 200


def statuses(times: int, password: str = "wrong", name: str = NAME) -> set[int]:
    """Try as often, each time from an address of its own, and return how it was answered."""
    return {
        Visitor(f"198.51.100.{number}").sign_in(password, name).status_code
        for number in range(times)
    }
