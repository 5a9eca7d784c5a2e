"""The examples of docs/how-to/stripe-sdks.md work, and so does Stripe's official SDK for Node."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from urllib.parse import urlsplit

import pytest
import stripe

from devstack.state import ROOT
from tests.clients.test_mistakes import TABLE as MISTAKES_FILE
from tests.stage.sdk_service import SIGNATURES, VECTORS, SdkService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    # The first one fetches Stripe's package and starts the service.
    pytest.mark.timeout(600),
]


# --- The documentation's examples --------------------------------------------------------------

PAGE = (ROOT / "docs/how-to/stripe-sdks.md").read_text()


def example(service: SdkService, language: str, number: int = 0) -> str:
    """Return an example of the page in a language, told where the service is."""
    code = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]
    where = urlsplit(service.url)
    for shown, real in {
        "https://pay.example": service.url,
        'protocol: "https", host: "pay.example", port: 443': (
            f'protocol: "http", host: "{where.hostname}", port: {where.port}'
        ),
        "sk_sandbox_…": service.key,
    }.items():
        code = code.replace(shown, real)
    assert "pay.example" not in code
    return code


@pytest.fixture
def surroundings(sdk_service: SdkService, tmp_path: Path) -> dict[str, str]:
    """Return what a program is told; the SDKs' telemetry writes an id down once per user."""
    files = {"SIGNATURES": str(SIGNATURES), "MISTAKES": str(MISTAKES_FILE)}
    told = {**files, "XDG_CONFIG_HOME": str(tmp_path)}
    return {**os.environ, **sdk_service.environment, **told}


def said_by(*command: str, env: dict[str, str]) -> str:
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


MAKES_A_SESSION = re.compile(r"open req_\w+\nsend the customer to \S+/pay/cs_\w+\.\w+\n")


@pytest.mark.parametrize(
    ("number", "said"), [(0, MAKES_A_SESSION), (1, re.compile(r"succeeded req_"))]
)
def test_the_examples_in_python_make_a_session_and_take_a_payment(
    sdk_service: SdkService, surroundings: dict[str, str], number: int, said: re.Pattern[str]
) -> None:
    code = example(sdk_service, "python", number)

    assert said.match(said_by(sys.executable, "-c", code, env=surroundings))


def test_the_example_of_a_webhook_refuses_what_is_dated_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver = ModuleType("receiver")
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[2], vars(receiver))  # noqa: S102
    now = SimpleNamespace(time=lambda: VECTORS["now"])
    monkeypatch.setattr("stripe._webhook.time", now)
    monkeypatch.setattr(receiver, "time", now)
    headers = {vector["what"]: vector["header"] for vector in VECTORS["headers"]}

    event = receiver.event_of(VECTORS["body"], headers["300 seconds ahead"], VECTORS["secret"])

    assert event.id == "evt_1"
    with pytest.raises(ValueError, match="dated ahead"):
        receiver.event_of(VECTORS["body"], headers["301 seconds ahead"], VECTORS["secret"])
    # The time that the check looks at is the one that was signed.
    other, signed = f"t={VECTORS['now']}", headers["300 seconds ahead"]
    twice = f"{signed},{other}"
    assert receiver.event_of(VECTORS["body"], twice, VECTORS["secret"]).id == "evt_1"
    with pytest.raises(stripe.SignatureVerificationError):
        receiver.event_of(VECTORS["body"], f"{other},{signed}", VECTORS["secret"])


# --- Node -------------------------------------------------------------------------------------

NODE_STORY = ROOT / "tests/clients/sdk_node"


@pytest.fixture(scope="module")
def node_story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story's program, beside the SDK that its lock file names."""
    if not (shutil.which("node") and shutil.which("npm")):
        why = "Node and npm are not installed"
        pytest.fail(why) if os.environ.get("CI") == "true" else pytest.skip(why)
    directory = tmp_path_factory.mktemp("node") / "story"
    shutil.copytree(NODE_STORY, directory, ignore=shutil.ignore_patterns("node_modules"))
    npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    subprocess.run(npm, cwd=directory, check=True, timeout=120)  # noqa: S607
    return directory / "story.js"


def test_the_sdk_for_node_tells_the_same_story(
    node_story: Path, surroundings: dict[str, str], disputed: list[str]
) -> None:
    said = said_by("node", str(node_story), env=surroundings)

    assert said.endswith("\n27 steps\n")


def test_the_example_in_node_makes_a_session(
    node_story: Path, sdk_service: SdkService, surroundings: dict[str, str]
) -> None:
    file = node_story.with_name("example.js")
    file.write_text(example(sdk_service, "js"))

    assert MAKES_A_SESSION.match(said_by("node", str(file), env=surroundings))
