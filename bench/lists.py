"""The measurement of lists: what pages cost PostgreSQL, at depth too, and how fast they come.

A page that is not the one that a plain query finds ends the run.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bench import report
from bench.bars import Figures
from bench.client import ClientCall, Line
from bench.lists_cases import DEPTH, LIMIT
from bench.load import LoadTerms, load
from bench.payments import PATH
from bench.stage import Stage
from devstack.console import say
from devstack.state import CannotContinue

ROWS = 2_000_000
# On a busy machine.
FILL_SECONDS, READ_SECONDS = 400, 200
PARTS = ["deep", "few", "endpoint"]


def measure(stage: Stage, terms: LoadTerms, parts: Sequence[str] = ()) -> Figures:
    """Fill the tables, and measure one thing after the other.

    :param parts: names from `PARTS`; all of them by default.
    :raises CannotContinue: a page was not the right one.
    """
    merchant, scale = stage.open_merchant(), terms.scale
    rows, depth = scale.of(ROWS), scale.of(DEPTH)
    say("bench", f"{rows} payments, half of them one merchant's")
    program = [sys.executable, "-m", "bench.lists_fill", merchant["merchant_id"], str(rows)]
    fill_seconds = float(stage.output_of(program, seconds=FILL_SECONDS))
    figures: Figures = {"rows": rows, "depth": depth, "fill_seconds": fill_seconds}
    read = read_pages(stage, merchant_id=merchant["merchant_id"], depth=depth, parts=parts or PARTS)
    figures |= read["figures"] | {"pages": read["pages"]}
    if not parts or "endpoint" in parts:
        for each in _endpoints(stage, merchant["secret_key"], read["answers"], terms):
            figures |= each
    return figures


def read_pages(stage: Stage, **order: Any) -> dict[str, Any]:
    """Return what PostgreSQL's part found, and what the endpoint is to be asked.

    :raises CannotContinue: a page was not the right one.
    """
    say("bench", f"pages of {LIMIT}, up to {order['depth']} rows deep")
    file = stage.directory / "lists.json"
    file.write_text(json.dumps(order))
    program = [sys.executable, "-m", "bench.lists_reads", str(file)]
    read = json.loads(stage.output_of(program, seconds=READ_SECONDS))
    if read["wrong"]:
        raise CannotContinue(f"{len(read['wrong'])} pages were wrong; one is {read['wrong'][0]}.")
    return read


def _endpoints(
    stage: Stage, secret_key: str, answers: list[dict[str, Any]], terms: LoadTerms
) -> Iterator[Figures]:
    """Measure what one client on a kept connection waits for, and what an answer took."""
    alone = terms._replace(clients=1)
    yield {"endpoint_load": os.getloadavg()[0]}
    with stage.service():
        for answer in answers:
            path = f"{PATH}?{answer['query']}"
            expected = right_answer(ClientCall(stage.ports.web, path, {}, secret_key), answer)
            measured = load(stage, ClientCall(stage.ports.web, path, expected, secret_key), alone)
            name = answer["name"]
            yield report.speed(name, measured) | {f"{name}_answers": measured.seen.answers}


def right_answer(call: ClientCall, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer that has the right rows, which all others must be like.

    :raises CannotContinue: it has not.
    """
    line = Line(call.port)
    try:
        status, content = line.ask(call.request())
    finally:
        line.close()
    body = json.loads(content)
    shown = {
        "ids": [row["id"] for row in body.get("data", [])],
        "has_more": body.get("has_more"),
        "total_count": body.get("total_count"),
    }
    if wrong := {name: value for name, value in shown.items() if value != answer[name]}:
        raise CannotContinue(f"{status} to {call.path}: wrong in {', '.join(wrong)}.")
    return body
