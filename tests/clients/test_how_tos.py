"""The samples of the how-tos work when they are copied, and what no test runs says so."""

from pathlib import Path

import pytest

from devstack.state import ROOT
from tests.stage.how_tos import RUN_LANGUAGES, Reader, Sample, samples, unexplained
from tests.stage.sdk_service import SdkService

HOW_TOS = ROOT / "docs/how-to"
PAGES = [
    "take-a-payment", "decide-from-a-status", "show-a-decline", "retry-safely",
    "read-a-list-to-its-end", "find-a-request", "run-a-receiver", "register-addresses",
    "rotate-a-key-and-a-secret", "move-from-stripe",
]  # fmt: skip
LEAST = 25
BROKEN = "# A page\n\n<!-- run by a test -->\n```python\nprint(1)\n```\n\n```text\n2\n```\n"
UNMARKED = "# A page\n\n```php\necho 1;\n```\n"


def text(page: str) -> str:
    return (HOW_TOS / f"{page}.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.every_case("Each page is another set of samples.")
@pytest.mark.parametrize("page", PAGES)
def test_the_samples_of_a_page_work_in_its_order(
    page: str, sdk_service: SdkService, tmp_path: Path
) -> None:
    told = {
        "http://127.0.0.1:8000": sdk_service.url,
        "http://localhost:3000/hooks": sdk_service.hooks.url,
        "sk_sandbox_…": sdk_service.key,
        "sk_sandbox_revoked": sdk_service.revoked_key,
    }
    reader = Reader(told, tmp_path)
    marked = [one for one in samples(text(page)) if one.is_marked]

    for sample in marked:
        reader.run(sample)

    print(f"{page}: {len(marked)} samples run")  # noqa: T201
    assert marked


def test_many_samples_are_run_and_the_others_say_that_no_test_does() -> None:
    found = [one for page in PAGES for one in samples(text(page))]
    marked = [one for one in found if one.is_marked]

    assert len(marked) >= LEAST
    assert {one.language for one in marked} == RUN_LANGUAGES
    every = [*PAGES, "generate-a-client", "go-live"]
    assert {page: rows for page in every if (rows := unexplained(text(page)))} == {}


def test_a_sample_that_prints_something_else_is_found(tmp_path: Path) -> None:
    [sample] = samples(BROKEN)

    assert sample == Sample("python", "<!-- run by a test -->", "print(1)\n", shown="2\n")
    with pytest.raises(AssertionError, match="is shown"):
        Reader({}, tmp_path).run(sample)


@pytest.mark.parametrize("answer", ['{"error": {}}', '{"status": "canceled"}'])
def test_a_call_that_answers_something_else_is_found(answer: str, tmp_path: Path) -> None:
    shown = '{"status": "succeeded", "…": "…"}'
    call = Sample("sh", "", 'echo \'{"status": "succeeded", "amount": 1}\'', shown)

    Reader({}, tmp_path).run(call)
    with pytest.raises(AssertionError):
        Reader({}, tmp_path).run(Sample("sh", "", f"echo '{answer}'", shown))


def test_a_sample_that_no_test_runs_and_that_does_not_say_so_is_found() -> None:
    assert unexplained(UNMARKED) == ["echo 1;"]
    assert unexplained(UNMARKED.replace("```php", "No test runs this one.\n\n```php")) == []
