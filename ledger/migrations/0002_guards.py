"""The ledger is append-only, and every movement sums to zero when it commits.

Entries belong to a movement and an account of the same merchant, in the currency of both. A
movement says by how much it changes the merchant's balance, and its entries change it by that.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE ledger_entry
    ADD CONSTRAINT an_entrys_movement_is_the_merchants_in_its_currency
        FOREIGN KEY (merchant_id, movement_id, currency)
        REFERENCES ledger_movement (merchant_id, id, currency) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT an_entrys_account_is_the_merchants_in_its_currency
        FOREIGN KEY (merchant_id, account_id, currency)
        REFERENCES ledger_account (merchant_id, id, currency) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT pending_entries_and_no_others_have_a_date
        CHECK ((available_on IS NOT NULL) = (split_part(account_id, '.', 3) = 'pending'));
ALTER TABLE ledger_movement
    ADD CONSTRAINT a_movement_follows_the_merchants_in_its_currency
        FOREIGN KEY (merchant_id, follows_id, currency)
        REFERENCES ledger_movement (merchant_id, id, currency) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ledger_checkpoint
    ADD CONSTRAINT a_checkpoints_account_is_the_merchants_in_its_currency
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
CREATE TRIGGER runs_are_append_only BEFORE UPDATE OR DELETE ON ledger_run
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();
CREATE TRIGGER runs_are_not_truncated BEFORE TRUNCATE ON ledger_run
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only();
-- Entries refer to accounts, and processes remember which there are: an account stays as it is.
CREATE TRIGGER accounts_are_append_only BEFORE UPDATE OR DELETE ON ledger_account
    FOR EACH ROW EXECUTE FUNCTION ledger_is_append_only();

-- Deferred: the entries of a movement come in several rows, and only the whole sums to zero.
CREATE FUNCTION movement_sums_to_zero() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    checked text;
    entries bigint;
    total numeric;
    held numeric;
    fees numeric;
BEGIN
    IF TG_TABLE_NAME = 'ledger_entry' THEN
        checked := NEW.movement_id;
    ELSE
        checked := NEW.id;
    END IF;
    SELECT count(*), sum(amount),
           coalesce(sum(amount) FILTER (WHERE kind IN ('pending', 'available')), 0),
           coalesce(sum(amount) FILTER (WHERE kind = 'fees'), 0)
    INTO entries, total, held, fees
    FROM ledger_entry, split_part(account_id, '.', 3) AS kind WHERE movement_id = checked;
    -- Of a disputed kurus the surcharge's share may be all: it moves once the dispute is lost.
    IF entries = 0 AND NOT EXISTS (
        SELECT FROM ledger_movement
        WHERE id = checked AND kind IN ('dispute_opened', 'dispute_won') AND surcharge <> 0
    ) THEN
        RAISE EXCEPTION 'movement % moves nothing', checked USING ERRCODE = 'check_violation';
    END IF;
    IF total <> 0 THEN
        RAISE EXCEPTION 'movement % does not sum to zero', checked USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT FROM ledger_movement WHERE id = checked AND (net, fee) = (held, fees)) THEN
        RAISE EXCEPTION 'movement % changes the balance by another amount than it says', checked
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER entries_sum_to_zero AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION movement_sums_to_zero();
CREATE CONSTRAINT TRIGGER movement_has_entries AFTER INSERT ON ledger_movement
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION movement_sums_to_zero();

-- A date or an entry that a run has reached is never left behind by a later one.
CREATE FUNCTION run_goes_on_from_the_last() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ledger_run
               WHERE (merchant_id, currency) = (NEW.merchant_id, NEW.currency)
                 AND (date > NEW.date OR boundary > NEW.boundary)) THEN
        RAISE EXCEPTION 'run % does not go on from the last one', NEW.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_run_goes_on_from_the_last BEFORE INSERT ON ledger_run
    FOR EACH ROW EXECUTE FUNCTION run_goes_on_from_the_last();
"""

UNDO = """
DROP TRIGGER a_run_goes_on_from_the_last ON ledger_run;
DROP FUNCTION run_goes_on_from_the_last;
DROP TRIGGER movement_has_entries ON ledger_movement;
DROP TRIGGER entries_sum_to_zero ON ledger_entry;
DROP TRIGGER accounts_are_append_only ON ledger_account;
DROP TRIGGER IF EXISTS runs_are_not_truncated ON ledger_run;
DROP TRIGGER runs_are_append_only ON ledger_run;
DROP TRIGGER IF EXISTS movements_are_not_truncated ON ledger_movement;
DROP TRIGGER movements_are_append_only ON ledger_movement;
DROP TRIGGER IF EXISTS entries_are_not_truncated ON ledger_entry;
DROP TRIGGER entries_are_append_only ON ledger_entry;
DROP FUNCTION movement_sums_to_zero;
DROP FUNCTION ledger_is_append_only;
ALTER TABLE ledger_checkpoint
    DROP CONSTRAINT a_checkpoints_account_is_the_merchants_in_its_currency;
ALTER TABLE ledger_movement
    DROP CONSTRAINT a_movement_follows_the_merchants_in_its_currency;
ALTER TABLE ledger_entry
    DROP CONSTRAINT pending_entries_and_no_others_have_a_date,
    DROP CONSTRAINT an_entrys_account_is_the_merchants_in_its_currency,
    DROP CONSTRAINT an_entrys_movement_is_the_merchants_in_its_currency;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
