"""Events are facts: no UPDATE, no TRUNCATE, and no DELETE but by `prune_events`."""

from django.db import migrations

GUARDS = """
CREATE FUNCTION events_are_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Inside of the function below the owner is the current user. The setting alone is anybody's.
    IF TG_OP = 'DELETE' AND current_setting('events.pruning', true) = 'on'
        AND current_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID)
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'events are never changed or deleted' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER events_are_immutable BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION events_are_immutable();
CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON events_event
    FOR EACH STATEMENT EXECUTE FUNCTION events_are_immutable();

-- The one way that an event goes, for the service's role too, which `migrate` lets call it.
-- The setting is on inside of it alone: an error undoes it, too. A SET clause of the function
-- would need a superuser, for its parameter is not one of PostgreSQL's.
CREATE FUNCTION prune_events(old text[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM set_config('events.pruning', 'on', true);
    DELETE FROM events_event WHERE id = ANY(old);
    PERFORM set_config('events.pruning', 'off', true);
END $$;
REVOKE ALL ON FUNCTION prune_events FROM PUBLIC;
"""

UNDO = """
DROP FUNCTION prune_events;
DROP TRIGGER IF EXISTS events_are_not_truncated ON events_event;
DROP TRIGGER events_are_immutable ON events_event;
DROP FUNCTION events_are_immutable;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
