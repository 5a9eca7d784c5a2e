"""Pages of lists, with the plans of their statements and the buffers that these read."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from core.rest import lists
from core.rest.lists import ListSpec


class Read(NamedTuple):
    """A page's ids and its cost: the buffers of all its SQL, and the nodes of its query plans."""

    ids: list[str]
    buffers: int
    nodes: set[str]


def read(rows: QuerySet, query: str, spec: ListSpec) -> Read:
    """Return what PostgreSQL reads for the page that a query asks for."""
    with CaptureQueriesContext(connection) as statements:
        page = lists.page(rows, QueryDict(query), spec, url="/")
    buffers, nodes = cost(statements)
    return Read([row.id for row in page.rows], buffers, nodes)


def cost(statements: CaptureQueriesContext) -> tuple[int, set[str]]:
    """Return the buffers that some statements read, and the nodes of their plans."""
    plans = [_plan(statement["sql"]) for statement in statements]
    buffers = sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)
    return buffers, {node for plan in plans for node in _nodes(plan)}


def _plan(sql: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}")
        [[found]] = cursor.fetchall()
    return (found if isinstance(found, list) else json.loads(found))[0]["Plan"]


def _nodes(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["Node Type"]
    for inner in plan.get("Plans", []):
        yield from _nodes(inner)
