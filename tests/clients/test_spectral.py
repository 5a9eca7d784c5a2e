"""The schema keeps the rules of a second linter, Spectral's; `./dev check` asks Redocly's."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from devstack.node_packages import NoNode, installed
from devstack.schema_linter import SCHEMA
from tests.stage.lengths import in_prove_only

pytestmark = [pytest.mark.proof(part="fuzz"), pytest.mark.timeout(600)]
LEAST_OPERATIONS, LEAST_RULES = 50, 50


def linted(schema: Path) -> tuple[int, str]:
    try:
        program = installed(Path(__file__).with_name("spectral"))
    except NoNode as missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(missing))
    command = ["node", str(program / "lint.mjs"), str(schema)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@in_prove_only
def test_no_rule_refuses_the_document() -> None:
    status, said = linted(SCHEMA)

    assert status == 0, said
    tried = re.search(r"^(\d+) rules on (\d+) operations$", said, re.MULTILINE)
    assert tried, said
    assert int(tried[1]) >= LEAST_RULES
    assert int(tried[2]) >= LEAST_OPERATIONS


def test_a_fault_of_a_small_document_is_found(tmp_path: Path) -> None:
    document: dict[str, Any] = json.loads(SCHEMA.read_bytes())
    document["paths"] = {"/v1/balance": document["paths"]["/v1/balance"]}
    document["webhooks"] = {}
    del document["paths"]["/v1/balance"]["get"]["operationId"]
    (tmp_path / "openapi.json").write_text(json.dumps(document))

    status, said = linted(tmp_path / "openapi.json")

    assert status == 1
    assert "paths//v1/balance/get: " in said
    assert "(operation-operationId)" in said
    assert "nothing to except" not in said
