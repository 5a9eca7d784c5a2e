"""The table of Stripe's names: each is unknown somewhere, and its advice names what is here."""

import re

import pytest
from django.urls import Resolver404, resolve

from core.rest.stripe_names import PARAMETERS, PATHS
from docsite.reference import endpoints, openapi

NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+(?:\[\w+\])*|\b\w+(?:\[\w+\])+")
# Words of the advice that are no parameters, but fields or values of answers.
SHOWN = {"next_action[redirect_to_url][url]"}


def taken_names() -> set[str]:
    """Return the parameters of all bodies and queries, and the parts of their names."""
    rows = [row for one in openapi.operations() for row in endpoints.in_body(one)]
    names = {row[0] for row in rows}
    names |= {one["name"] for each in openapi.operations() for one in each.parameters}
    return names | {part for name in names for part in re.split(r"[\[\].]+", name) if part}


def unknown_in(advice: dict[str, str]) -> set[str]:
    """Return the names and addresses in advice that the API does not have."""
    known = taken_names() | SHOWN
    found = {name for text in advice.values() for name in NAME.findall(text)}
    paths = {path for text in advice.values() for path in re.findall(r"/v1/[\w/]*\w", text)}
    parts = {part for path in paths for part in path.split("/")}
    return {name for name in found - parts if name not in known} | {
        path for path in paths if not is_there(path)
    }


def is_there(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def test_the_advice_names_what_the_api_has() -> None:
    assert unknown_in({**PARAMETERS, **PATHS}) == set()
    print(f"{len(PARAMETERS)} parameters and {len(PATHS)} paths of Stripe's")  # noqa: T201


@pytest.mark.parametrize(
    ("advice", "wrong"),
    [("Send card_token.", "card_token"), ("Read /v1/charges.", "/v1/charges")],
)
def test_advice_that_names_something_else_is_found(advice: str, wrong: str) -> None:
    assert unknown_in({"name": advice}) == {wrong}


def test_no_name_is_one_that_each_operation_takes() -> None:
    bodies = [one for one in openapi.operations() if one.bodies]

    for name in PARAMETERS:
        takes = [one for one in bodies if any(row[0] == name for row in endpoints.in_body(one))]
        assert len(takes) < len(bodies) / 2, name
    assert [path for path in PATHS if is_there(f"/v1/{path}")] == []
