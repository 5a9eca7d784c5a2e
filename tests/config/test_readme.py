"""The tables of the README name every room, every app and every address of the API."""

import json
import re
import tomllib
from collections.abc import Callable

import pytest
from django.apps import apps

from devstack.state import ROOT

README = (ROOT / "README.md").read_text()
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
[LAYERS] = [
    one["layers"] for one in LINTER["contracts"] if one["name"] == "Rooms import downward only"
]
# They stand at the contract's top and at the table's end: no part of the service.
OUTSIDE = {"devstack", "bench", "tests"}


def rooms() -> dict[str, str]:
    """Return what the table says of each room, in its order."""
    block = README.partition("## The rooms")[2].split("```")[1]
    found = re.split(r"^(\w+) +", block, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


def addresses() -> set[tuple[str, str]]:
    """Return the methods and paths of the table; `…` is the path before, up to its object."""
    table = README.partition("## What the API does today")[2].partition("\n## ")[0]
    found, collection = set(), ""
    for line in re.findall(r"^\| `.*", table, re.MULTILINE):
        cell = line.split(" | ")[0]
        for others, method, path in re.findall(r"((?:`[A-Z]+`, )*)`([A-Z]+) ([^`]+)`", cell):
            if not path.startswith("…"):
                collection = "/".join(path.split("/")[:3])
            whole = path.replace("…", collection)
            for one in [*re.findall("[A-Z]+", others), method]:
                found.add((one, without_names(whole)))
    return found


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
    ("gone", "found_by"),
    [
        ("payouts  ", test_every_room_has_a_line_in_the_order_of_the_contract),
        ("refunds, disputes, payer", test_every_app_stands_in_the_line_of_its_room),
        ("`POST …/{id}/close`", test_every_address_of_the_api_is_in_its_table),
    ],
)
def test_what_is_missing_is_found(
    gone: str, found_by: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "README", README.replace(gone, ""))

    with pytest.raises(AssertionError):
        found_by()
