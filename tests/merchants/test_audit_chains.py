"""`manage.py verify_audit_log` finds every way of tampering with the audit log."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.logs import LineHandler
from merchants import audit_chains, audit_log, tasks
from merchants.models import AuditEntry, Merchant
from tests.stage.factories import MerchantFactory
from tests.stage.tampering import tamper

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ROWS = 5


@pytest.fixture
def acme(db: None) -> str:
    """The name of a chain of five rows, beside those of another merchant and the installation."""
    acme: Merchant = MerchantFactory(id="mer_acme")
    globex = MerchantFactory(id="mer_globex")
    for number in range(ROWS):
        values = {"before": {"n": number, "ş": [None, 1.5]}, "after": {"n": number + 1}}
        audit_log.record("limit.changed", merchant=acme, subject="try", reason="ok", **values)
        audit_log.record("limit.changed", merchant=globex, subject="usd")
    audit_log.record("bins.imported", merchant=None, subject="1")
    return "merchant:mer_acme"


class Verdict:
    """The words of the command, taken apart."""

    def __init__(self, *arguments: Any) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code = 0
        try:
            call_command("verify_audit_log", *arguments, stdout=out, stderr=err)
        except SystemExit as end:
            self.code = int(str(end.code))
        self.heads = out.getvalue()
        self.problems = [
            line.removeprefix("PROBLEM  ").partition(": ")[0]
            for line in err.getvalue().splitlines()
            if line.startswith("PROBLEM")
        ]
        self.summary = err.getvalue().splitlines()[-1]


def test_an_untouched_log_is_fine(acme: str) -> None:
    verdict = Verdict()

    assert (verdict.code, verdict.problems) == (0, [])
    heads = [json.loads(line) for line in verdict.heads.splitlines()]
    assert [(head["chain"], head["sequence"]) for head in heads] == [
        ("installation", 1),
        ("merchant:mer_acme", ROWS),
        ("merchant:mer_globex", ROWS),
    ]
    assert verdict.summary.startswith("11 rows in 3 chains")


def test_pages_end_anywhere(acme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for page in range(1, 8):
        monkeypatch.setattr(audit_chains, "PAGE", page)

        assert Verdict().summary.startswith("11 rows in 3 chains, 0 rows in 0 days, 0 older heads")


CHANGES = {
    "action": "key.revoked",
    "subject": "eur",
    "before": '{"n": 9}',
    "after": None,
    "reason": "another",
    "actor": "api_key",
    "actor_id": "1",
    "actor_name": "nobody",
    "address": "203.0.113.9",
    "request_id": "req_x",
    "created_at": "2020-01-01T00:00:00Z",
    "merchant_id": "mer_globex",
    "id": "aud_x",
    "hash": b"x" * 32,
}


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("column", CHANGES)
def test_a_changed_row_is_named(acme: str, column: str) -> None:
    statement = f"UPDATE merchants_auditentry SET {column} = %s WHERE chain = %s AND sequence = 3"  # noqa: S608
    tamper(statement, CHANGES[column], acme)

    verdict = Verdict()

    assert verdict.code == 1
    # A hash is part of the next row's.
    assert verdict.problems == [f"{acme} #3", *([f"{acme} #4"] if column == "hash" else [])]


@pytest.mark.parametrize(
    ("column", "value"),
    [("created_at", "infinity"), ("created_at", "-infinity"), ("before", '{"n": 1e400}')],
)
def test_a_row_is_named_that_cannot_be_read_as_it_was_written(
    acme: str, column: str, value: str
) -> None:
    statement = f"UPDATE merchants_auditentry SET {column} = %s WHERE chain = %s AND sequence = 3"  # noqa: S608
    tamper(statement, value, acme)

    assert Verdict().problems == [f"{acme} #3"]


def test_every_column_is_tried() -> None:
    columns = {field.column for field in AuditEntry._meta.concrete_fields}

    assert columns == CHANGES.keys() | {"chain", "sequence"}


def test_a_removed_row_is_named(acme: str) -> None:
    tamper("DELETE FROM merchants_auditentry WHERE chain = %s AND sequence = 3", acme)

    assert Verdict().problems == [f"{acme} #3"]


def test_the_first_row_is_missed_too(acme: str) -> None:
    tamper("DELETE FROM merchants_auditentry WHERE chain = %s AND sequence = 1", acme)

    assert Verdict().problems == [f"{acme} #1"]


def test_a_doubled_row_is_named(acme: str) -> None:
    tamper(
        "ALTER TABLE merchants_auditentry DROP CONSTRAINT one_audit_entry_per_chain_and_sequence;"
        'INSERT INTO merchants_auditentry SELECT (jsonb_populate_record(entry, \'{"id": "x"}\')).*'
        " FROM merchants_auditentry AS entry WHERE chain = %s AND sequence = 3",
        acme,
    )

    verdict = Verdict()

    assert verdict.code == 1
    assert f"{acme} #3" in verdict.problems


def test_a_copy_at_the_end_is_named(acme: str) -> None:
    tamper(
        "INSERT INTO merchants_auditentry SELECT"
        ' (jsonb_populate_record(entry, \'{"id": "x", "sequence": 6}\')).*'
        " FROM merchants_auditentry AS entry WHERE chain = %s AND sequence = 5",
        acme,
    )

    assert f"{acme} #6" in Verdict().problems


def test_swapped_rows_are_named(acme: str) -> None:
    for old, new in ((3, 90), (4, 3), (90, 4)):
        tamper(
            "UPDATE merchants_auditentry SET sequence = %s WHERE chain = %s AND sequence = %s",
            new, acme, old,
        )  # fmt: skip

    assert Verdict().problems == [f"{acme} #{sequence}" for sequence in (3, 4, 5)]


def test_a_renamed_chain_is_found(acme: str) -> None:
    tamper("UPDATE merchants_auditentry SET chain = 'merchant:mer_x' WHERE chain = %s", acme)

    problems = Verdict().problems
    assert f"{acme} #1" in problems  # Gone from where it was,
    assert "merchant:mer_x #1" in problems  # and forged where it is.


def test_a_chain_that_is_renamed_with_its_head_is_found(acme: str) -> None:
    for table in ("auditentry", "audithead"):
        tamper(f"UPDATE merchants_{table} SET chain = 'merchant:mer_x' WHERE chain = %s", acme)  # noqa: S608

    assert "merchant:mer_x #1" in Verdict().problems


def test_a_head_that_is_turned_back_is_found(acme: str) -> None:
    tamper("UPDATE merchants_audithead SET sequence = 4 WHERE chain = %s", acme)

    assert Verdict().problems == [f"{acme} #4"]


def test_a_head_that_is_gone_or_another_is_found(acme: str) -> None:
    tamper("UPDATE merchants_audithead SET hash = 'x' WHERE chain = %s", acme)
    tamper("DELETE FROM merchants_audithead WHERE chain = 'installation'")

    assert Verdict().problems == ["installation #1", f"{acme} #5"]


def test_a_lost_end_is_found(acme: str) -> None:
    tamper("DELETE FROM merchants_auditentry WHERE chain = %s AND sequence > 3", acme)

    assert Verdict().problems == [f"{acme} #4"]


def cut(chain: str, *, after: int) -> None:
    """Take the newest rows away and turn the head back to fit, which leaves no trace in here."""
    tamper("DELETE FROM merchants_auditentry WHERE chain = %s AND sequence > %s", chain, after)
    tamper(
        "UPDATE merchants_audithead AS head SET (sequence, hash) = (entry.sequence, entry.hash)"
        " FROM merchants_auditentry AS entry"
        " WHERE head.chain = %s AND entry.chain = head.chain AND entry.sequence = %s",
        chain, after,
    )  # fmt: skip


def test_a_cut_end_is_found_with_the_heads_of_before(acme: str, tmp_path: Path) -> None:
    heads = tmp_path / "heads"
    heads.write_text(Verdict().heads)
    audit_log.record("limit.changed", merchant=Merchant.objects.get(id="mer_acme"), subject="try")
    assert Verdict("--heads", heads).code == 0

    cut(acme, after=3)

    assert Verdict().problems == []  # By itself the chain does not show it.
    verdict = Verdict("--heads", heads)
    assert (verdict.code, verdict.problems) == (1, [f"{acme} #5"])


def test_a_whole_chain_that_is_gone_is_found_with_the_heads_of_before(
    acme: str, tmp_path: Path
) -> None:
    heads = tmp_path / "heads"
    heads.write_text(Verdict().heads)

    for table in ("auditentry", "audithead"):
        tamper(f"DELETE FROM merchants_{table} WHERE chain = %s", acme)  # noqa: S608

    assert Verdict("--heads", heads).problems == [f"{acme} #5"]


def test_the_heads_of_the_log_serve_as_well(acme: str, tmp_path: Path) -> None:
    [handler] = [one for one in logging.getLogger().handlers if isinstance(one, LineHandler)]
    written = io.StringIO()
    usual = handler.setStream(written)
    tasks.log_audit_heads()
    handler.setStream(usual)
    log = tmp_path / "log"
    log.write_text("worker | no JSON\n" + written.getvalue())
    cut(acme, after=3)

    assert Verdict("--heads", log).problems == [f"{acme} #5"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"chain": "x"}', "null\n7\n"])
def test_a_file_without_heads_proves_nothing_and_says_so(
    acme: str, tmp_path: Path, content: str
) -> None:
    (tmp_path / "heads").write_text(content)

    with pytest.raises(CommandError, match="no heads"):
        Verdict("--heads", tmp_path / "heads")


def test_a_file_that_is_not_there_is_told(acme: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Cannot read"):
        Verdict("--heads", tmp_path / "heads")
