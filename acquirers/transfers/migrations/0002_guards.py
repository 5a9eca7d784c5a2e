"""Guards: a notice of a transfer stays as the bank sent it, and is applied once."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION transfer_notice_stays_as_it_was_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'notice % is kept as the bank told it, and applied once', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_transfer_notice_stays_as_it_was_told BEFORE UPDATE ON transfers_transfernotice
    FOR EACH ROW WHEN (
        OLD.applied_at IS NOT NULL
        OR (OLD.rail, OLD.number, OLD.kind, OLD.reference, OLD.amount, OLD.currency,
            OLD.failure_code, OLD.trace_id, OLD.remittance, OLD.at, OLD.stored_at)
        IS DISTINCT FROM
           (NEW.rail, NEW.number, NEW.kind, NEW.reference, NEW.amount, NEW.currency,
            NEW.failure_code, NEW.trace_id, NEW.remittance, NEW.at, NEW.stored_at))
    EXECUTE FUNCTION transfer_notice_stays_as_it_was_told();
CREATE TRIGGER a_transfer_notice_is_not_deleted BEFORE DELETE ON transfers_transfernotice
    FOR EACH ROW EXECUTE FUNCTION transfer_notice_stays_as_it_was_told();
"""

UNDO = """
DROP TRIGGER a_transfer_notice_is_not_deleted ON transfers_transfernotice;
DROP TRIGGER a_transfer_notice_stays_as_it_was_told ON transfers_transfernotice;
DROP FUNCTION transfer_notice_stays_as_it_was_told;
"""


class Migration(migrations.Migration):
    dependencies = [("transfers", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
