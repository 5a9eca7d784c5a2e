"""Clients that are generated from the schema take payments (docs/how-to/generate-a-client.md)."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from devstack.node_packages import NoNode, installed
from devstack.state import ROOT
from tests.stage.how_tos import Sample, samples, unexplained
from tests.stage.page_programs import differences
from tests.stage.sdk_service import SdkService

pytestmark = pytest.mark.django_db(databases=["default", "bank"])
PROGRAMS = Path(__file__).with_name("generated")
PAGE = (ROOT / "docs/how-to/generate-a-client.md").read_text()
NAMED = re.compile(r"([a-z][\w-]+)(==|@)(\d[\d.]*\d)")
# Of a class or type: one that a status or an operation of the API's gave its name.
AFTER_A_STATUS = re.compile(r"(?:Response|_)?[2-5]\d\d(?:Error|Response)?$|Response\d+$")
AFTER_A_NUMBER = re.compile(r"[a-z]\d+$")
LEAST_MODELS = 150
FILES = {"ts": "shop.mts", "python": "shop.py"}


class Follower:
    """Follows one section of the page in a directory of its own."""

    def __init__(self, service: SdkService, directory: Path) -> None:
        self.service, self.directory = service, directory
        try:
            (directory / "node_modules").symlink_to(installed(PROGRAMS) / "node_modules")
        except NoNode as missing:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(missing))

    def follow(self, section: str) -> int:
        """Do what the section says; return how many samples were run.

        :raises AssertionError: a sample failed, or printed something else than is shown.
        """
        marked = [one for one in samples(_section(section)) if one.is_marked]
        for sample in marked:
            said = self._run(sample)
            if sample.shown is not None:
                assert differences(said, [sample.shown]) == [], said
        return len(marked)

    def said_by(self, *command: str, fails: bool = False) -> str:
        """Run a command here; return what it printed."""
        beside = str(Path(sys.executable).parent)
        told = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            command, cwd=self.directory, env=told, capture_output=True, text=True, timeout=500
        )
        assert bool(done.returncode) == fails, done.stdout + done.stderr
        return done.stdout

    def _run(self, sample: Sample) -> str:
        code = sample.code.replace("http://127.0.0.1:8000", self.service.url)
        code = code.replace("sk_sandbox_…", self.service.key)
        if sample.language == "sh":
            return self.said_by("sh", "-e", "-c", code)
        (self.directory / FILES[sample.language]).write_text(code)
        is_program = sample.language == "python"
        return self.said_by(sys.executable, FILES["python"]) if is_program else ""


def _section(name: str) -> str:
    _before, heading, rest = PAGE.partition(f"\n## {name}\n")
    assert heading, name
    return rest.partition("\n## ")[0]


@pytest.fixture
def follower(sdk_service: SdkService, tmp_path: Path) -> Follower:
    return Follower(sdk_service, tmp_path)


def sound(names: list[str]) -> int:
    """Return how many models a generator made; none is named after a status, or numbered."""
    odd = [one for one in names if AFTER_A_STATUS.search(one) or AFTER_A_NUMBER.search(one)]
    assert odd == []
    assert len(names) >= LEAST_MODELS
    return len(names)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_client_in_typescript_takes_a_payment(follower: Follower) -> None:
    assert follower.follow("TypeScript") == 3

    types = (follower.directory / "api.d.ts").read_text()
    schemas = types.partition("\n    schemas: {")[2].partition("\n    };")[0]
    names = re.findall(r"^        (\w+): ", schemas, re.MULTILINE)
    print(f"openapi-typescript: {sound(names)} types")  # noqa: T201
    program = follower.directory / "shop.mts"
    program.write_text(program.read_text().replace('"amount_too_small"', '"amount_to_small"'))
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"]
    said = follower.said_by("npx", "tsc", *options, program.name, fails=True)
    assert "amount_to_small" in said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_client_in_python_takes_a_payment(follower: Follower) -> None:
    assert follower.follow("Python") == 2

    text = (follower.directory / "payments_client/models/__init__.py").read_text()
    names = re.findall(r'^\s+"(\w+)",$', text.partition("__all__")[2], re.MULTILINE)
    print(f"openapi-python-client: {sound(names)} models")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_models_in_python_read_answers(follower: Follower) -> None:
    assert follower.follow("Python: models alone") == 2

    text = (follower.directory / "payment_models.py").read_text()
    names = re.findall(r"^class (\w+)", text, re.MULTILINE)
    print(f"datamodel-code-generator: {sound(names)} models")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_collection_of_postman_takes_a_payment(follower: Follower) -> None:
    assert follower.follow("Postman") == 1

    file = follower.directory / "collection.json"
    collection = json.loads(file.read_bytes())
    [create] = [one for one in _requests(collection) if one["name"] == "Create a payment"]
    body = json.loads(create["request"]["body"]["raw"])
    del body["customer"]
    create["request"]["body"]["raw"] = json.dumps(body)
    file.write_text(json.dumps(collection))
    where = ["--env-var", f"baseUrl={follower.service.url}"]
    key = ["--env-var", f"bearerToken={follower.service.key}"]
    # Its own check of an answer: without one, a refusal would look like a payment.
    report = ["--reporters", "json", "--reporter-json-export", "report.json"]
    run = ["newman", "run", file.name, "--folder", create["name"], *where, *key, *report]
    follower.said_by("npx", *run)

    [ran] = json.loads((follower.directory / "report.json").read_bytes())["run"]["executions"]
    answer = json.loads(bytes(ran["response"]["stream"]["data"]))
    assert (ran["response"]["code"], answer["status"]) == (200, "succeeded"), answer
    print(f"openapi-to-postmanv2: {len([*_requests(collection)])} requests")  # noqa: T201


def _requests(folder: Any) -> Iterator[Any]:
    for one in folder["item"]:
        if "request" in one:
            yield one
        else:
            yield from _requests(one)


def test_the_page_names_the_versions_that_the_test_has() -> None:
    ours = json.loads((PROGRAMS / "package.json").read_bytes())["dependencies"]
    named = NAMED.findall(PAGE)

    has = {name: version(name) if sign == "==" else ours[name] for name, sign, _number in named}
    assert {name: number for name, _sign, number in named} == has
    assert len(has) == len(ours) + 2


def test_each_sample_is_run_or_says_that_no_test_runs_it() -> None:
    assert unexplained(PAGE) == []


@pytest.mark.parametrize("name", ["PaymentIntentsCreateResponse400", "Error_404", "Refund1"])
def test_a_model_that_is_named_after_a_status_or_numbered_is_found(name: str) -> None:
    with pytest.raises(AssertionError, match=name):
        sound([name])
