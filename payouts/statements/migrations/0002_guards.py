"""A statement is never changed, and goes on from the last one of its merchant and currency."""

from django.db import migrations

GUARDS = """
CREATE TRIGGER statements_are_append_only BEFORE UPDATE OR DELETE ON statements_statement
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER statements_are_not_truncated BEFORE TRUNCATE ON statements_statement
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();

CREATE FUNCTION statement_goes_on_from_the_last() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last record;
BEGIN
    SELECT month, ends_at, closing, boundary INTO last FROM statements_statement
    WHERE (merchant_id, currency) = (NEW.merchant_id, NEW.currency) ORDER BY month DESC LIMIT 1;
    IF FOUND AND ((last.month + interval '1 month')::date, last.ends_at, last.closing)
            IS DISTINCT FROM (NEW.month, NEW.begins_at, NEW.opening)
        OR last.boundary > NEW.boundary OR (NOT FOUND AND NEW.opening <> 0) THEN
        RAISE EXCEPTION 'statement % does not go on from the last one', NEW.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_statement_goes_on_from_the_last BEFORE INSERT ON statements_statement
    FOR EACH ROW EXECUTE FUNCTION statement_goes_on_from_the_last();
"""

UNDO = """
DROP TRIGGER a_statement_goes_on_from_the_last ON statements_statement;
DROP FUNCTION statement_goes_on_from_the_last;
DROP TRIGGER IF EXISTS statements_are_not_truncated ON statements_statement;
DROP TRIGGER statements_are_append_only ON statements_statement;
"""


class Migration(migrations.Migration):
    dependencies = [("statements", "0001_initial"), ("ledger", "0002_guards")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
