"""Guards: the audit log is append-only, and the status of an account moves only as listed.

The head of a chain only moves forward, one link at a time. The list of statuses is in
merchants.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
CREATE FUNCTION audit_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_entries_are_append_only BEFORE UPDATE OR DELETE ON merchants_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_append_only();
CREATE TRIGGER audit_entries_are_not_truncated BEFORE TRUNCATE ON merchants_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();
CREATE TRIGGER audit_heads_stay BEFORE DELETE ON merchants_audithead
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_append_only();
CREATE TRIGGER audit_heads_are_not_truncated BEFORE TRUNCATE ON merchants_audithead
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_append_only();
CREATE TRIGGER audit_heads_move_forward BEFORE UPDATE ON merchants_audithead
    FOR EACH ROW WHEN (
        NEW.chain <> OLD.chain OR NEW.sequence NOT IN (OLD.sequence, OLD.sequence + 1)
    )
    EXECUTE FUNCTION audit_log_is_append_only();

CREATE FUNCTION merchant_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('pending', 'active'),
        ('pending', 'closed'),
        ('active', 'restricted'),
        ('active', 'closed'),
        ('restricted', 'active'),
        ('restricted', 'closed')
    ) THEN
        RAISE EXCEPTION 'a merchant does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER merchant_moves_as_listed BEFORE UPDATE OF status ON merchants_merchant
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION merchant_moves_as_listed();
"""

UNDO = """
DROP TRIGGER merchant_moves_as_listed ON merchants_merchant;
DROP FUNCTION merchant_moves_as_listed;
DROP TRIGGER audit_heads_move_forward ON merchants_audithead;
DROP TRIGGER IF EXISTS audit_heads_are_not_truncated ON merchants_audithead;
DROP TRIGGER audit_heads_stay ON merchants_audithead;
DROP TRIGGER IF EXISTS audit_entries_are_not_truncated ON merchants_auditentry;
DROP TRIGGER audit_entries_are_append_only ON merchants_auditentry;
DROP FUNCTION audit_log_is_append_only;
"""


class Migration(migrations.Migration):
    dependencies = [("merchants", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
