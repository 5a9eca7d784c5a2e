"""Resources are declared in their rooms; two of them may not claim the same name."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.rest import resources
from core.rest.resources import Resource
from payments.customers.resource import RESOURCE as CUSTOMERS

OF_CUSTOMERS = CUSTOMERS.kinds["customer"]
SAME_PATH = Resource(path="customers", tag=("Others", "Others."))
SAME_KIND = replace(SAME_PATH, path="others", kinds=CUSTOMERS.kinds)
SAME_PREFIX = replace(SAME_PATH, path="others", kinds={"other": OF_CUSTOMERS})
ANOTHER = replace(
    SAME_PATH, path="others", scope="others", kinds={"other": replace(OF_CUSTOMERS, prefix="oth")}
)


@pytest.fixture(autouse=True)
def _collected_anew() -> Iterator[None]:
    resources.declared.cache_clear()
    resources.kinds.cache_clear()
    yield
    resources.declared.cache_clear()
    resources.kinds.cache_clear()


def declare(settings: Any, name: str) -> None:
    settings.RESOURCES = ["payments.customers.resource.RESOURCE", f"{__name__}.{name}"]


@pytest.mark.parametrize(
    ("name", "noun"),
    [("SAME_PATH", "path"), ("SAME_KIND", "kind"), ("SAME_PREFIX", "prefix")],
)
def test_a_name_that_two_resources_claim_is_refused(settings: Any, name: str, noun: str) -> None:
    declare(settings, name)

    with pytest.raises(ImproperlyConfigured, match=f"the same {noun}"):
        resources.declared()


def test_a_declared_resource_is_a_scope_and_a_kind(settings: Any) -> None:
    declare(settings, "ANOTHER")

    assert resources.scopes() == ("customers", "others")
    assert set(resources.kinds()) == {"customer", "other"}
