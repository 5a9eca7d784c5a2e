"""A journal of the transactions that write a table, kept by triggers while a test lasts."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tests.stage.database_role import as_owner

# The rows that the audit log is about. Of keys not the moment of their last use.
WATCHED = {
    "merchants_auditentry": "",
    "merchants_apikey": "OF revoked_at, expires_at",
    "merchants_merchant": "",
    "merchants_user": "OF wrong_in_a_row, locked_until, password",
    "merchants_website": "",
    "merchants_callbackurl": "",
    "merchants_nonsecurelimit": "",
    "merchants_negativelimit": "",
    "merchants_installmentplan": "",
    "merchants_riskrule": "",
    "acquirers_terminal": "",
    "acquirers_route": "",
    "merchants_payoutaccount": "",
    "merchants_payoutschedule": "",
    "ledger_holidaychange": "",
    "ledger_price": "",
    "risk_listentry": "",
    "installments_binimport": "",
    "webhooks_endpoint": "",
    "webhooks_signingsecret": "",
    "webhooks_delivery": "",
    "events_event": "",
}
BEGIN = """
CREATE TABLE write_journal (written text, xid text);
GRANT SELECT, INSERT, DELETE ON write_journal TO PUBLIC;
CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO write_journal VALUES (TG_TABLE_NAME, pg_current_xact_id()::text);
    RETURN NULL;
END $$;
"""
WATCH = """
CREATE TRIGGER note_write AFTER INSERT OR DELETE OR UPDATE {} ON {}
FOR EACH ROW EXECUTE FUNCTION note_write();
"""
END = "DROP FUNCTION note_write CASCADE; DROP TABLE write_journal;"


class Journal:
    """The transactions that wrote, by table."""

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM write_journal")

    def assert_one_transaction(self) -> None:
        """Fail unless one transaction wrote all that was written, and an audit row with it."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT xid, array_agg(DISTINCT written) FROM write_journal GROUP BY 1")
            written = dict(cursor.fetchall())
        assert len(written) == 1, written
        [tables] = written.values()
        assert "merchants_auditentry" in tables
        assert len(tables) > 1, "nothing but the audit row was written"


@contextmanager
def write_journal() -> Iterator[Journal]:
    with as_owner() as cursor:
        cursor.execute(BEGIN)
        for table, columns in WATCHED.items():
            cursor.execute(WATCH.format(columns, table))
    try:
        yield Journal()
    finally:
        with as_owner() as cursor:
            cursor.execute(END)
