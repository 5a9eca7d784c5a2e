"""The check of the schema by a linter's rules: faults are found, and it looks at each operation."""

import json
import os
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from devstack.check import checks
from devstack.node_packages import NoNode, installed
from devstack.schema_linter import PROGRAM, SCHEMA, lint

PLANTED: dict[str, Callable[[Any], object]] = {
    "operation-description": lambda it: it["paths"]["/v1/balance"]["get"].pop("description"),
    "no-unused-components": lambda it: it["components"]["schemas"].update(Lonely={}),
    "no-invalid-media-type-examples": lambda it: it["webhooks"]["payout.paid"]["post"][
        "requestBody"
    ]["content"]["application/json"]["example"].update(sequence="first"),
}


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return installed(PROGRAM)
    except NoNode as missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(missing))


def linted(document: Any, program: Path, tmp_path: Path) -> tuple[int, str]:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    return lint(program, file)


def test_it_is_one_of_the_checks(tmp_path: Path) -> None:
    assert "linter" in [check.name for check in checks(tmp_path)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_faults_that_are_planted_together_are_all_found(program: Path, tmp_path: Path) -> None:
    document = json.loads(SCHEMA.read_bytes())
    planted = deepcopy(document)
    for plant in PLANTED.values():
        plant(planted)
    # A refusal where the linter's exception is: the exception is no longer met.
    answers = planted["paths"]["/v1/openapi.json"]["get"]["responses"]
    answers["429"] = {"$ref": "#/components/responses/RateLimited"}

    status, said = linted(planted, program, tmp_path)

    assert status == 1
    found = re.findall(r" \(([\w-]+)\)$", said, re.MULTILINE)
    assert {*PLANTED, "operation-4xx-response"} == set(found), said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_document_without_operations_is_refused(program: Path, tmp_path: Path) -> None:
    document = {**json.loads(SCHEMA.read_bytes()), "paths": {}, "webhooks": {}}

    status, said = linted(document, program, tmp_path)

    assert status == 1
    assert "rules on 0 operations" in said
