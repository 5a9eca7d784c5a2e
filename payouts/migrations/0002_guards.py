"""Guards: the status of a payout moves only as listed, and its terms stay.

The list is in payouts.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
CREATE FUNCTION payout_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('pending', 'in_transit'),
        ('pending', 'canceled'),
        ('in_transit', 'paid'),
        ('in_transit', 'failed'),
        ('paid', 'failed')
    ) THEN
        RAISE EXCEPTION 'a payout does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payout_moves_as_listed BEFORE UPDATE OF status ON payouts_payout
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION payout_moves_as_listed();

-- The bank is asked for what was written down.
CREATE FUNCTION payout_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payout %: reference, amount and account cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER payout_keeps_its_terms BEFORE UPDATE ON payouts_payout
    FOR EACH ROW WHEN (
        (OLD.merchant_id, OLD.acquirer_reference, OLD.amount, OLD.currency, OLD.destination,
         OLD.holder_name, OLD.iban, OLD.request_id, OLD.automatic, OLD.scheduled_on,
         OLD.created_at)
        IS DISTINCT FROM
        (NEW.merchant_id, NEW.acquirer_reference, NEW.amount, NEW.currency, NEW.destination,
         NEW.holder_name, NEW.iban, NEW.request_id, NEW.automatic, NEW.scheduled_on,
         NEW.created_at))
    EXECUTE FUNCTION payout_keeps_its_terms();
"""

UNDO = """
DROP TRIGGER payout_keeps_its_terms ON payouts_payout;
DROP TRIGGER payout_moves_as_listed ON payouts_payout;
DROP FUNCTION payout_keeps_its_terms;
DROP FUNCTION payout_moves_as_listed;
"""


class Migration(migrations.Migration):
    dependencies = [("payouts", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
