"""Daily runs are rows: made once, seen when they fail or are killed, told by `check_money`."""

from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from acquirers.gateway import StatementUnreadable
from audit import figures, report
from audit.daily import jobs, runs, tasks
from audit.daily.models import DailyRun
from audit.reconciliation.models import Difference, KeptLine
from core import clock
from merchants.models import User
from testbank import settlement_files
from tests.audit.test_audit import audit, unguarded
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.settlement_days import a_difference, a_file, busy_day, line, reconcile, today
from tests.stage.transfers import enrich

# In real transactions: settlement sees what is committed.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

Job, Status = DailyRun.Job, DailyRun.Status
ALL = ["settlement", "payouts", "reconcile", "audit"]


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return acme


def the_night_comes() -> None:
    """Let the bank's day end, and the hours pass until the daily runs are late."""
    end_the_day()
    clock.advance(timedelta(hours=5))


def rows(**wanted: Any) -> list[tuple[str, str, int | None]]:
    """Return job, status and try of each run, in their order."""
    found = DailyRun.objects.filter(**wanted).order_by("id")
    return list(found.values_list("job", "status", "number"))


def check_money() -> tuple[int, list[str]]:
    """Return the command's exit code and lines."""
    out = StringIO()
    try:
        call_command("check_money", stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


def fail(*_arguments: Any) -> None:
    raise OSError("4242424242424242")


def test_each_job_of_a_day_is_made_once(shop: ApiClient) -> None:
    day = busy_day(shop)
    the_night_comes()

    tasks.run_due()
    tasks.run_due()

    assert rows(day=day) == [(job, "done", 1) for job in ALL]
    assert DailyRun.objects.count() == 4
    assert check_money() == (0, ["the daily runs were made, and found nothing"])


def test_a_run_counts_what_it_did(shop: ApiClient) -> None:
    begin_at_noon()
    shop.pay()
    day = today()
    the_night_comes()

    tasks.run_due()

    reconcile = DailyRun.objects.get(job="reconcile", day=day)
    assert reconcile.counts == {"lines": 1, "unread": 0, "opened": 0, "closed": 0}
    settlement = DailyRun.objects.get(job="settlement")
    assert settlement.counts["left"] == 0
    audit = DailyRun.objects.get(job="audit")
    assert audit.counts["checks"] > 10
    assert audit.ended_at is not None
    assert audit.ended_at >= audit.begun_at


def test_nothing_is_due_before_the_banks_day_is_over(shop: ApiClient) -> None:
    begin_at_noon()
    first = runs.day_due()
    end_the_day()

    assert runs.day_due() == first
    clock.advance(timedelta(hours=3))
    assert runs.day_due() == first + timedelta(days=1)


def test_a_missed_run_is_told(shop: ApiClient) -> None:
    the_night_comes()
    day = runs.day_due()

    assert check_money() == (1, [f"{job}: the run of {day} did not happen" for job in ALL])


def test_a_failed_run_is_told_by_its_class_alone_and_tried_again(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_night_comes()
    with monkeypatch.context() as broken:
        broken.setitem(jobs.JOBS, Job.AUDIT, fail)
        tasks.run_due()
    tasks.run_due()

    status, said = check_money()

    assert (status, said) == (1, [f"audit: the run of {runs.day_due()} failed (OSError)"])
    assert rows(job="audit") == [("audit", "failed", 1)]
    DailyRun.objects.filter(job="audit").update(
        begun_at=DailyRun.objects.get(job="audit").begun_at - runs.AGAIN_AFTER
    )
    tasks.run_due()
    assert rows(job="audit") == [("audit", "failed", 1), ("audit", "done", 2)]
    assert check_money()[0] == 0


class Killed(BaseException):
    """The process is gone."""


def test_a_run_that_was_killed_half_way_is_seen_as_such(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_night_comes()

    def die(*_arguments: Any) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setitem(jobs.JOBS, Job.RECONCILE, die)
        with pytest.raises(Killed):
            tasks.run_due()
    [run] = DailyRun.objects.filter(job="reconcile")
    assert run.status == Status.RUNNING
    assert "is under way since" in check_money()[1][0]

    run.begun_at -= runs.LONGEST
    run.save()
    assert check_money()[1][0].endswith("UTC and killed")
    tasks.run_due()

    assert rows(job="reconcile") == [("reconcile", "killed", 1), ("reconcile", "done", 2)]
    assert check_money()[0] == 0


def test_what_a_run_found_is_told(shop: ApiClient) -> None:
    begin_at_noon()
    shop.pay()
    the_night_comes()
    tasks.run_due()
    a_difference(shop.merchant)

    assert check_money() == (1, ["reconcile: 1 cases are open"])


def test_findings_of_the_audit_are_told(shop: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    the_night_comes()

    def find(_day: Any, result: runs.Result) -> None:
        result.findings = 2

    monkeypatch.setitem(jobs.JOBS, Job.AUDIT, find)
    tasks.run_due()

    assert check_money() == (1, [f"audit: 2 findings in the run of {runs.day_due()}"])


WRONG = "UPDATE ledger_movement SET net = net + {by}, amount = amount + {by} WHERE net = 700"


@pytest.fixture
def earner(shop: ApiClient) -> ApiClient:
    """A merchant that earned something after clean daily runs."""
    the_night_comes()
    tasks.run_due()
    assert check_money()[0] == 0
    enrich(shop.merchant, 700)
    return shop


def test_an_audit_by_hand_that_found_something_is_told_until_one_is_clean(
    earner: ApiClient,
) -> None:
    unguarded(WRONG.format(by=1))
    assert audit()[0] == 1

    assert check_money() == (1, [f"audit: 1 findings in the run of {runs.day_due()}"])

    unguarded(WRONG.replace("700", "701").format(by=-1))
    assert audit()[0] == 0
    assert check_money()[0] == 0
    assert rows(job="audit") == [("audit", "done", number) for number in (1, None, None)]


def test_a_clean_audit_by_hand_is_the_last_clean_one(earner: ApiClient) -> None:
    DailyRun.objects.filter(job="audit").delete()
    assert figures.clean_audit_seconds() is None

    assert audit()[0] == 0

    assert figures.clean_audit_seconds() is not None
    daily = runs.begin(Job.AUDIT, runs.day_due())
    assert daily is not None
    assert daily.number == 1


def test_an_audit_of_a_shorter_window_ends_no_finding(earner: ApiClient) -> None:
    DailyRun.objects.filter(job="audit").update(findings=1)

    assert audit("--window", "1")[0] == 0

    assert check_money() == (1, [f"audit: 1 findings in the run of {runs.day_due()}"])
    assert figures.clean_audit_seconds() is None
    assert audit("--window", "3")[0] == 0
    assert check_money()[0] == 0


def test_findings_of_an_audit_of_a_shorter_window_are_told(earner: ApiClient) -> None:
    unguarded(WRONG.format(by=1))

    assert audit("--window", "1")[0] == 1

    assert check_money() == (1, [f"audit: 1 findings in the run of {runs.day_due()}"])


def test_an_audit_by_hand_without_the_banks_answer_is_no_audit(
    earner: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_arguments: Any) -> None:
        raise StatementUnreadable("The bank did not answer.")

    DailyRun.objects.filter(job="audit").delete()
    monkeypatch.setattr(report, "run", unreadable)

    with pytest.raises(CommandError):
        audit()

    said = f"audit: the run of {runs.day_due()} failed (StatementUnreadable)"
    assert check_money() == (1, [said])


def test_days_without_a_run_are_caught_up_with_by_one(shop: ApiClient) -> None:
    begin_at_noon()
    the_night_comes()
    tasks.run_due()
    begin_at_noon()
    shop.pay()
    clock.advance(timedelta(days=3))

    tasks.run_due()

    newest = DailyRun.objects.filter(job="reconcile").latest("id")
    assert (newest.day, newest.counts["lines"]) == (runs.day_due(), 1)
    assert not Difference.objects.exists()


def missed(days: int) -> date:
    """Let runs be away for so many days; return the first one that was missed."""
    the_night_comes()
    tasks.run_due()
    clock.advance(timedelta(days=days))
    return runs.day_due() - timedelta(days=days - 1)


def test_sixty_missed_days_are_caught_up_with() -> None:
    assert jobs.CAUGHT_UP == 60


def test_missed_days_that_are_too_many_are_one_finding(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CAUGHT_UP", 2)
    first = missed(5)

    tasks.run_due()
    clock.advance(timedelta(days=1))
    tasks.run_due()  # The next day's run has missed nothing, and the finding stays.

    run = DailyRun.objects.get(job="reconcile", left_out_from__isnull=False)
    assert (run.findings, run.left_out_from) == (1, first)
    last = first + timedelta(days=2)
    sentence = f"reconcile: the files from {first} to {last} were not read"
    assert check_money() == (1, [sentence])


def test_as_many_missed_days_as_a_run_reads_are_no_finding(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CAUGHT_UP", 3)
    missed(3)

    tasks.run_due()

    assert check_money()[0] == 0


def test_a_person_who_reads_the_left_out_files_ends_the_finding(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jobs, "CAUGHT_UP", 1)
    first = missed(4)
    tasks.run_due()

    def read(day: date) -> None:
        path = tmp_path / "bank.csv"
        with path.open("w") as file:
            settlement_files.write(day, file)
        call_command("reconcile", str(path), "--day", str(day), stdout=StringIO())

    second, third = (first + timedelta(days=count) for count in (1, 2))
    read(first)
    assert check_money()[1] == [f"reconcile: the files from {second} to {third} were not read"]
    read(third)
    read(second)

    assert check_money()[0] == 0


def test_two_workers_begin_a_run_once(shop: ApiClient) -> None:
    day = runs.day_due()

    assert runs.begin(Job.AUDIT, day) is not None
    assert runs.begin(Job.AUDIT, day) is None


def test_where_no_files_come_by_themselves_a_persons_reading_counts(
    shop: ApiClient, settings: Any, tmp_path: Any
) -> None:
    settings.SETTLEMENT_FILES = ""
    begin_at_noon()
    shop.pay()
    day = today()
    the_night_comes()
    tasks.run_due()
    assert check_money() == (1, [f"reconcile: the run of {day} did not happen"])
    path = tmp_path / "bank.csv"
    with path.open("w") as file:
        settlement_files.write(day, file)

    call_command("reconcile", str(path), stdout=StringIO())

    assert check_money()[0] == 0
    assert rows(job="reconcile") == [("reconcile", "done", None)]


@pytest.fixture
def by_hand(shop: ApiClient, settings: Any) -> ApiClient:
    """A merchant where people read the bank's files, after the runs of a day."""
    settings.SETTLEMENT_FILES = ""
    the_night_comes()
    tasks.run_due()
    return shop


def test_an_empty_file_without_its_day_makes_up_for_no_run(
    by_hand: ApiClient, tmp_path: Path
) -> None:
    with pytest.raises(CommandError):
        reconcile(a_file(), tmp_path)

    said = f"reconcile: the run of {runs.day_due()} failed (OfNoDay)"
    assert check_money() == (1, [said])
    assert reconcile(a_file(), tmp_path, "--day", str(runs.day_due()))[0] == 0
    assert check_money()[0] == 0


def test_a_day_that_has_not_begun_is_refused(by_hand: ApiClient, tmp_path: Path) -> None:
    tomorrow = today() + timedelta(days=1)

    with pytest.raises(CommandError, match=f"{tomorrow} has not begun") as refused:
        reconcile(a_file(), tmp_path, "--day", str(runs.day_due()), "--day", str(tomorrow))

    assert refused.value.returncode == 2
    assert rows(job="reconcile") == []


@pytest.mark.every_case("A day that is not over hides one that was not read.")
@pytest.mark.parametrize("days", [0, 1, 365])
def test_a_line_of_a_day_that_is_not_over_makes_up_for_no_run(
    days: int, by_hand: ApiClient, tmp_path: Path
) -> None:
    due, wrong = runs.day_due(), line(today() + timedelta(days=days), by_hand)

    reconcile(a_file(wrong), tmp_path)
    assert f"reconcile: the run of {due} did not happen" in check_money()[1]
    reconcile(a_file(wrong), tmp_path, "--day", str(due))
    assert check_money()[1] == ["reconcile: 1 cases are open"]
    clock.advance(timedelta(days=1))

    assert f"reconcile: the run of {runs.day_due()} did not happen" in check_money()[1]


def test_a_day_counts_as_read_from_its_end(by_hand: ApiClient, tmp_path: Path) -> None:
    day = today()
    end_the_day()

    assert reconcile(a_file(), tmp_path, "--day", str(day))[0] == 0

    clock.advance(timedelta(hours=5))
    assert runs.day_due() == day
    assert not [one for one in check_money()[1] if one.startswith("reconcile")]


def test_a_file_whose_every_line_is_bad_makes_up_for_no_run(
    by_hand: ApiClient, tmp_path: Path
) -> None:
    due = runs.day_due()

    assert reconcile(a_file(line(due, by_hand, amount="1.5")), tmp_path)[0] == 1

    assert check_money() == (1, [f"reconcile: the run of {due} did not happen"])


def test_a_line_that_could_not_be_read_is_named_until_a_person_reads_its_days_file_whole(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    the_night_comes()
    day, source = runs.day_due(), settlement_files.write

    def damaged(of: date, file: TextIO) -> None:
        file.write(a_file(line(of, shop, amount="1.5")))

    monkeypatch.setattr(settlement_files, "write", damaged)
    tasks.run_due()
    said = f"reconcile: 1 lines of {day} could not be read"
    assert check_money() == (1, [said])

    monkeypatch.setattr(settlement_files, "write", source)
    clock.advance(timedelta(days=1))
    tasks.run_due()
    assert check_money() == (1, [said])
    assert reconcile(a_file(line(day, shop, amount="x")), tmp_path, "--day", str(day))[0] == 1
    assert check_money() == (1, [said])

    assert reconcile(a_file(), tmp_path, "--day", str(day))[0] == 0
    assert check_money()[0] == 0


def test_missed_days_with_bad_lines_are_all_named(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = missed(3)

    def damaged(of: date, file: TextIO) -> None:
        file.write(a_file(*[line(of, shop, amount="1.5")] * (of < runs.day_due())))

    monkeypatch.setattr(settlement_files, "write", damaged)
    tasks.run_due()

    last = first + timedelta(days=1)
    said = f"reconcile: 2 lines from {first} to {last} could not be read"
    assert check_money() == (1, [said])


def test_bad_lines_of_a_persons_file_are_of_its_newest_days_without_a_gap(
    by_hand: ApiClient, tmp_path: Path
) -> None:
    due = runs.day_due()
    late, first = due - timedelta(days=9), due - timedelta(days=1)
    whole = ["--day", str(late), "--day", str(first), "--day", str(due)]

    assert reconcile(a_file(line(due, by_hand, amount="1.5")), tmp_path, *whole)[0] == 1

    said = f"reconcile: 1 lines from {first} to {due} could not be read"
    assert check_money() == (1, [said])
    assert reconcile(a_file(), tmp_path, *whole)[0] == 0
    assert check_money()[0] == 0


def read_days(directory: Path, *days: date, text: str = a_file()) -> int:
    """Read a file that speaks for some days; return the exit code."""
    return reconcile(text, directory, *(f"--day={day}" for day in days))[0]


def test_days_that_a_persons_reading_skipped_are_named_until_they_are_read(
    by_hand: ApiClient, tmp_path: Path
) -> None:
    thursday = runs.day_due()
    assert read_days(tmp_path, thursday) == 0
    assert check_money()[0] == 0
    clock.advance(timedelta(days=3))
    tasks.run_due()
    friday, saturday, sunday = (thursday + timedelta(days=count) for count in (1, 2, 3))

    assert read_days(tmp_path, sunday) == 0

    said = f"reconcile: the files from {friday} to {saturday} were not read"
    assert check_money() == (1, [said])
    assert read_days(tmp_path, friday) == 0
    assert check_money()[1] == [f"reconcile: the files from {saturday} to {saturday} were not read"]
    assert read_days(tmp_path, saturday) == 0
    assert check_money()[0] == 0


def test_days_between_those_of_a_file_are_skipped_too(by_hand: ApiClient, tmp_path: Path) -> None:
    first = runs.day_due()
    read_days(tmp_path, first)
    clock.advance(timedelta(days=3))
    tasks.run_due()

    read_days(tmp_path, first, first + timedelta(days=3))

    skipped = (first + timedelta(days=1), first + timedelta(days=2))
    said = "reconcile: the files from {} to {} were not read".format(*skipped)
    assert check_money() == (1, [said])


def test_bad_lines_and_skipped_days_are_named_together(by_hand: ApiClient, tmp_path: Path) -> None:
    first = runs.day_due()
    read_days(tmp_path, first)
    clock.advance(timedelta(days=2))
    tasks.run_due()
    skipped, last = first + timedelta(days=1), runs.day_due()

    read_days(tmp_path, last, text=a_file(line(last, by_hand, amount="1.5")))

    said = f"reconcile: 1 lines from {skipped} to {last} could not be read"
    assert check_money() == (1, [said])


def test_the_first_reading_and_readings_of_the_days_in_order_skip_nothing(
    by_hand: ApiClient, tmp_path: Path
) -> None:
    first = runs.day_due()
    clock.advance(timedelta(days=3))
    tasks.run_due()

    for count in (0, 1, 2, 3, 1):
        assert read_days(tmp_path, first + timedelta(days=count)) == 0

    assert check_money()[0] == 0


def test_a_persons_reading_skips_nothing_where_the_files_come_by_themselves(
    shop: ApiClient, tmp_path: Path
) -> None:
    missed(3)

    assert read_days(tmp_path, runs.day_due()) == 0

    assert not [said for said in check_money()[1] if "were not read" in said]


def test_old_runs_and_kept_lines_are_forgotten(shop: ApiClient, settings: Any) -> None:
    tasks.run_due()
    KeptLine.objects.create(
        type="sale", reference="A", day=today(), currency="try", amount=1, merchant_id=None
    )
    tasks.forget_old()
    assert (DailyRun.objects.count(), KeptLine.objects.count()) == (4, 1)

    clock.advance(timedelta(days=settings.DAILY_RUN_DAYS + 3))
    tasks.forget_old()

    assert (DailyRun.objects.count(), KeptLine.objects.count()) == (0, 0)


def test_the_admin_shows_the_last_runs_and_what_failed(shop: ApiClient, client: Client) -> None:
    tasks.run_due()
    DailyRun.objects.filter(job="audit").update(status=Status.FAILED, failure="OSError")
    client.force_login(User.objects.create_superuser("o@example.com", "a long enough password"))

    everything = client.get(reverse("admin:daily_dailyrun_changelist")).content.decode()
    failed = client.get(reverse("admin:daily_dailyrun_changelist") + "?status__exact=failed")

    assert all(job in everything for job in ALL)
    assert "OSError" in failed.content.decode()
    assert failed.content.decode().count("field-status") == 1
