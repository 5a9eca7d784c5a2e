"""Guards: a notice stays as the bank sent it, and is applied once."""

from django.db import migrations

GUARDS = """
-- The evidence of a case.
CREATE FUNCTION notice_stays_as_it_was_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'notice % is kept as the bank told it, and applied once', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_notice_stays_as_it_was_told BEFORE UPDATE ON notices_notice
    FOR EACH ROW WHEN (
        OLD.applied_at IS NOT NULL
        OR (OLD.terminal_id, OLD.number, OLD.kind, OLD.reference, OLD.refund_reference,
            OLD.dispute, OLD.about, OLD.amount, OLD.currency, OLD.reason,
            OLD.network_reason_code, OLD.due_by, OLD.at, OLD.stored_at)
        IS DISTINCT FROM
           (NEW.terminal_id, NEW.number, NEW.kind, NEW.reference, NEW.refund_reference,
            NEW.dispute, NEW.about, NEW.amount, NEW.currency, NEW.reason,
            NEW.network_reason_code, NEW.due_by, NEW.at, NEW.stored_at))
    EXECUTE FUNCTION notice_stays_as_it_was_told();
CREATE TRIGGER a_notice_is_not_deleted BEFORE DELETE ON notices_notice
    FOR EACH ROW EXECUTE FUNCTION notice_stays_as_it_was_told();
"""

UNDO = """
DROP TRIGGER a_notice_is_not_deleted ON notices_notice;
DROP TRIGGER a_notice_stays_as_it_was_told ON notices_notice;
DROP FUNCTION notice_stays_as_it_was_told;
"""


class Migration(migrations.Migration):
    dependencies = [("notices", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
