"""Resources are declared in their rooms; two of them may not claim the same name."""

from collections.abc import Iterator
from dataclasses import replace

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
    kept = dict(resources.RESOURCES)
    resources.RESOURCES.clear()
    resources.kinds.cache_clear()
    yield
    resources.RESOURCES.clear()
    resources.RESOURCES.update(kept)
    resources.kinds.cache_clear()


@pytest.mark.parametrize(
    ("other", "refusal"),
    [
        (SAME_PATH, "The resource customers is registered twice"),
        (SAME_KIND, "Two resources have the same kind: customer"),
        (SAME_PREFIX, "Two resources have the same prefix: cus"),
    ],
)
def test_a_name_that_two_resources_claim_is_refused(other: Resource, refusal: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=refusal):
        resources.register(CUSTOMERS, other)


def test_a_declared_resource_is_a_scope_and_a_kind() -> None:
    resources.register(CUSTOMERS, ANOTHER)

    assert resources.scopes() == ("customers", "others")
    assert set(resources.kinds()) == {"customer", "other"}
