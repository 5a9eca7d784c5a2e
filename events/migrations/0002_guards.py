"""Events are facts: no UPDATE, DELETE or TRUNCATE."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION events_are_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are never changed or deleted' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER events_are_immutable BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION events_are_immutable();
CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON events_event
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_immutable();
"""

UNDO = """
DROP TRIGGER IF EXISTS events_are_not_truncated ON events_event;
DROP TRIGGER events_are_immutable ON events_event;
DROP FUNCTION events_are_immutable;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
