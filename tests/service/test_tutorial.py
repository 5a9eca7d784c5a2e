"""The tutorial's blocks, run in order against the running service, print what the page shows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.state import ROOT
from tests.stage.own_ports import own_ports
from tests.stage.page_programs import BLOCK, blocks, differences, open_shop, run
from tests.stage.service import RunningService

PAGE = (ROOT / "docs/tutorial/shop.md").read_text()
LANGUAGES = ["python", "js"]
STEPS = 10


@pytest.fixture
def shop_ports() -> dict[str, str]:
    return own_ports(*LANGUAGES)


@pytest.fixture
def service(tmp_path: Path, shop_ports: dict[str, str]) -> Iterator[RunningService]:
    running = RunningService(tmp_path / "state")
    running.environment["WEBHOOK_DEV_HOSTS"] = ",".join(
        f"localhost:{port}" for port in shop_ports.values()
    )
    try:
        running.start()
        yield running
    finally:
        if running.launcher and running.launcher.poll() is None:
            running.stop()
        running.call("reset")


@pytest.mark.slow
@pytest.mark.timeout(900)  # It starts the whole service, and waits for the bank's days.
def test_the_shops_of_the_tutorial_end_with_a_paid_payout(
    service: RunningService, shop_ports: dict[str, str], tmp_path: Path
) -> None:
    for language in LANGUAGES:
        shop, directory = open_shop(service, shop_ports[language]), tmp_path / language
        directory.mkdir()

        said = run(PAGE, language, service=service, shop=shop, directory=directory)

        print(f"{language}: {len(blocks(PAGE, language))} blocks run")  # noqa: T201
        assert differences(said, blocks(PAGE, "text")) == []
        assert said.endswith("10 payout: paid\n")


def test_each_step_has_a_block_of_each_language_and_shows_what_is_seen() -> None:
    kinds = [kind for kind, _code in BLOCK.findall(PAGE)]

    counted = {kind: kinds.count(kind) for kind in kinds}
    assert counted == {"sh": 4, "python": STEPS, "js": STEPS, "text": STEPS}
    assert PAGE.count("**Wrong on purpose:**") == STEPS


@pytest.mark.parametrize(
    "said", ["1 key: 401 balance\n", "", "1 key: 200 balance\n1 key: 200 balance\n", "Open: \n"]
)
def test_a_line_that_is_not_as_shown_is_found(said: str) -> None:
    assert differences("1 key: 200 balance\n", ["1 key: 200 …\n"]) == []
    assert differences(said, ["1 key: 200 …\n"]) != []
