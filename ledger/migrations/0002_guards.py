"""The ledger is append-only, and every movement sums to zero per currency when it commits.

Entries belong to a movement and an account of the same merchant, in the account's currency.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE ledger_entry
    ADD CONSTRAINT an_entrys_movement_is_the_merchants FOREIGN KEY (merchant_id, movement_id)
        REFERENCES ledger_movement (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT an_entrys_account_is_the_merchants_in_its_currency
        FOREIGN KEY (merchant_id, account_id, currency)
        REFERENCES ledger_account (merchant_id, id, currency) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER entries_are_append_only BEFORE UPDATE OR DELETE ON ledger_entry
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER entries_are_not_truncated BEFORE TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER movements_are_append_only BEFORE UPDATE OR DELETE ON ledger_movement
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER movements_are_not_truncated BEFORE TRUNCATE ON ledger_movement
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();

-- Deferred: the entries of a movement come in several rows, and only the whole sums to zero.
CREATE FUNCTION movement_sums_to_zero() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    checked bigint := CASE TG_TABLE_NAME WHEN 'ledger_entry' THEN (to_jsonb(NEW)->>'movement_id')::bigint
                      ELSE (to_jsonb(NEW)->>'id')::bigint END;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM ledger_entry WHERE movement_id = checked) THEN
        RAISE EXCEPTION 'movement % moves nothing', checked USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (SELECT 1 FROM ledger_entry WHERE movement_id = checked
               GROUP BY currency HAVING sum(amount) <> 0) THEN
        RAISE EXCEPTION 'movement % does not sum to zero', checked USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER entries_sum_to_zero AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION movement_sums_to_zero();
CREATE CONSTRAINT TRIGGER movement_has_entries AFTER INSERT ON ledger_movement
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION movement_sums_to_zero();
"""

UNDO = """
DROP TRIGGER movement_has_entries ON ledger_movement;
DROP TRIGGER entries_sum_to_zero ON ledger_entry;
DROP TRIGGER IF EXISTS movements_are_not_truncated ON ledger_movement;
DROP TRIGGER movements_are_append_only ON ledger_movement;
DROP TRIGGER IF EXISTS entries_are_not_truncated ON ledger_entry;
DROP TRIGGER entries_are_append_only ON ledger_entry;
DROP FUNCTION movement_sums_to_zero;
DROP FUNCTION ledger_is_append_only;
ALTER TABLE ledger_entry
    DROP CONSTRAINT an_entrys_account_is_the_merchants_in_its_currency,
    DROP CONSTRAINT an_entrys_movement_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
