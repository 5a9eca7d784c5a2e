"""Guards: a digest of a day is written once, and never changed or removed."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION day_digests_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'digests of days are append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER day_digests_are_append_only BEFORE UPDATE OR DELETE ON daily_daydigest
    FOR EACH ROW EXECUTE FUNCTION day_digests_are_append_only();
CREATE TRIGGER day_digests_are_not_truncated BEFORE TRUNCATE ON daily_daydigest
    FOR EACH STATEMENT EXECUTE FUNCTION day_digests_are_append_only();
"""

UNDO = """
DROP TRIGGER IF EXISTS day_digests_are_not_truncated ON daily_daydigest;
DROP TRIGGER day_digests_are_append_only ON daily_daydigest;
DROP FUNCTION day_digests_are_append_only;
"""


class Migration(migrations.Migration):
    dependencies = [("daily", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
