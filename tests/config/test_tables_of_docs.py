"""The tables of the documentation name every room, every app and every address of the API."""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps

from core.rest import resources
from devstack.state import ROOT

ROOMS_PAGE = (ROOT / "docs/contribute/rooms.md").read_text()
FILTERS_PAGE = (ROOT / "docs/reference/filters.md").read_text()
EXPANSION_PAGE = (ROOT / "docs/reference/expansion.md").read_text()
ENDPOINTS_PAGE = (ROOT / "docs/reference/endpoints.md").read_text()
README_LINES_MAX = 80
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
[LAYERS] = [
    one["layers"] for one in LINTER["contracts"] if one["name"] == "Rooms import downward only"
]
# They stand at the contract's top and at the table's end: no part of the service.
OF_EVERY_LIST = {"limit", "starting_after", "ending_before", "include", "expand", "sort"}
OUTSIDE = {"devstack", "docsite", "bench", "tests"}


def rooms() -> dict[str, str]:
    """Return what the table says of each room, in its order."""
    block = ROOMS_PAGE.partition("## The rooms")[2].split("```")[1]
    found = re.split(r"^(\w+) +", block, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


def addresses() -> set[tuple[str, str]]:
    """Return the methods and paths of the table; `…` is the path before, up to its object."""
    found, collection = set(), ""
    for line in re.findall(r"^\| `.*", ENDPOINTS_PAGE, re.MULTILINE):
        cell = line.split(" | ")[0]
        for others, method, path in re.findall(r"((?:`[A-Z]+`, )*)`([A-Z]+) ([^`]+)`", cell):
            if not path.startswith("…"):
                collection = "/".join(path.split("/")[:3])
            whole = path.replace("…", collection)
            for one in [*re.findall("[A-Z]+", others), method]:
                found.add((one, without_names(whole)))
    return found


def document() -> dict[str, Any]:
    return json.loads((ROOT / "docs/openapi.json").read_text())


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference of the document refers to, else the schema itself."""
    found: Any = schema
    while "$ref" in found:
        way, found = found["$ref"].removeprefix("#/").split("/"), document()
        for step in way:
            found = found[step]
    return found


def described_lists() -> dict[str, tuple[set[str], set[str]]]:
    """Return the filters and the keys to sort by of each list, as the document has them."""
    found = {}
    for path, methods in document()["paths"].items():
        given = [resolved(each) for each in methods.get("get", {}).get("parameters", [])]
        names = {each["name"]: each for each in given if each["in"] == "query"}
        if "sort" not in names:
            continue
        keys = {key.removeprefix("-") for key in resolved(names["sort"]["schema"])["enum"]}
        found[path] = ({name.partition("[")[0] for name in names} - OF_EVERY_LIST, keys)
    return found


def told_lists() -> dict[str, tuple[set[str], set[str]]]:
    rows = re.findall(r"^\| `(/v1/[^`]+)` \| (.+) \| (.+) \|$", FILTERS_PAGE, re.MULTILINE)
    return {
        path: (set(re.findall("`([^`]+)`", filters)), set(re.findall("`([^`]+)`", keys)))
        for path, filters, keys in rows
    }


def test_every_list_has_its_filters_and_its_keys_to_sort_by() -> None:
    assert len(described_lists()) > 10
    assert told_lists() == described_lists()


def test_every_field_that_can_be_expanded_is_in_its_table() -> None:
    rows = re.findall(r"^\| [\w ]+ \(`([\w.]+)`\) \| (.+) \|$", EXPANSION_PAGE, re.MULTILINE)
    told = {kind: set(re.findall("`([^`]+)`", names)) for kind, names in rows}

    assert told == {name: {*kind.fields} for name, kind in resources.kinds().items() if kind.fields}


def without_names(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def test_every_room_has_a_line_in_the_order_of_the_contract() -> None:
    service = [name for name in rooms() if name not in OUTSIDE]
    layer = {name: at for at, names in enumerate(LAYERS) for name in names.split(" | ")}

    assert rooms().keys() == set(LINTER["root_packages"])
    assert service == sorted(service, key=layer.__getitem__)


def test_every_app_stands_in_the_line_of_its_room() -> None:
    told = rooms()
    ours = [config.name.split(".") for config in apps.get_app_configs()]
    nested = [(room, names[-1]) for room, *names in ours if room in told and names]

    assert len(nested) > 10
    assert [one for one in nested if one[1].rstrip("s") not in told[one[0]]] == []


def test_every_address_of_the_api_is_in_its_table() -> None:
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    served = {
        (method.upper(), without_names(path))
        for path, methods in document["paths"].items()
        for method in methods
    }

    assert addresses() == served


@pytest.mark.parametrize(
    ("page", "gone", "found_by"),
    [
        ("ROOMS_PAGE", "payouts  ", test_every_room_has_a_line_in_the_order_of_the_contract),
        ("ROOMS_PAGE", "refunds, disputes, payer", test_every_app_stands_in_the_line_of_its_room),
        (
            "FILTERS_PAGE",
            "`arrival_date`, `currency`",
            test_every_list_has_its_filters_and_its_keys_to_sort_by,
        ),
        (
            "EXPANSION_PAGE",
            "`latest_attempt`, ",
            test_every_field_that_can_be_expanded_is_in_its_table,
        ),
        ("ENDPOINTS_PAGE", "`POST …/{id}/close`", test_every_address_of_the_api_is_in_its_table),
    ],
)
def test_what_is_missing_is_found(
    page: str, gone: str, found_by: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), page, globals()[page].replace(gone, ""))

    with pytest.raises(AssertionError):
        found_by()


def test_the_readme_is_read_in_a_minute() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES_MAX
