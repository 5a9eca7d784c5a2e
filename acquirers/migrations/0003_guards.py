"""Guards: an exchange is its attempt's merchant's and stays; a terminal stays the same bank's."""

from django.db import migrations

GUARDS = """
ALTER TABLE acquirers_bankexchange
    ADD CONSTRAINT an_exchanges_attempt_is_the_merchants FOREIGN KEY (merchant_id, attempt_id)
        REFERENCES intents_attempt (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

-- The evidence of a case.
CREATE FUNCTION exchange_stays_as_it_was() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'exchange % with a bank is kept as it was', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER an_exchange_stays_as_it_was BEFORE UPDATE OR DELETE ON acquirers_bankexchange
    FOR EACH ROW EXECUTE FUNCTION exchange_stays_as_it_was();

-- Attempts ask the bank that they were opened with.
CREATE FUNCTION terminal_keeps_its_bank() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'terminal %: kind and merchant cannot change', OLD.name
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_terminal_keeps_its_bank BEFORE UPDATE ON acquirers_terminal
    FOR EACH ROW WHEN ((OLD.id, OLD.kind, OLD.merchant_id)
                       IS DISTINCT FROM (NEW.id, NEW.kind, NEW.merchant_id))
    EXECUTE FUNCTION terminal_keeps_its_bank();
"""

UNDO = """
DROP TRIGGER a_terminal_keeps_its_bank ON acquirers_terminal;
DROP FUNCTION terminal_keeps_its_bank;
DROP TRIGGER an_exchange_stays_as_it_was ON acquirers_bankexchange;
DROP FUNCTION exchange_stays_as_it_was;
ALTER TABLE acquirers_bankexchange DROP CONSTRAINT an_exchanges_attempt_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("acquirers", "0002_exchanges"), ("intents", "0002_guards")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
