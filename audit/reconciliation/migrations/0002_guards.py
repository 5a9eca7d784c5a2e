"""Guards: a difference stays, and one that is closed does not change."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION a_closed_difference_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'difference %: it stays as it was closed', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_closed_difference_stays BEFORE UPDATE ON reconciliation_difference
    FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
    EXECUTE FUNCTION a_closed_difference_stays();
CREATE TRIGGER differences_stay BEFORE DELETE ON reconciliation_difference
    FOR EACH ROW EXECUTE FUNCTION a_closed_difference_stays();
"""
UNDO = """
DROP TRIGGER differences_stay ON reconciliation_difference;
DROP TRIGGER a_closed_difference_stays ON reconciliation_difference;
DROP FUNCTION a_closed_difference_stays;
"""


class Migration(migrations.Migration):
    dependencies = [("reconciliation", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
