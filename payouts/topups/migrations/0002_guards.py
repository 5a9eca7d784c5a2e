"""Guards: topups and transfers in move only as listed, keep their terms, and are one merchant's.

The lists are in payouts.topups.states; tests compare them.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE topups_incomingtransfer
    ADD CONSTRAINT a_transfers_topup_is_its_merchants FOREIGN KEY (merchant_id, topup_id)
        REFERENCES topups_topup (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION topup_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('pending', 'succeeded'),
        ('pending', 'failed'),
        ('pending', 'canceled'),
        ('succeeded', 'reversed')
    ) THEN
        RAISE EXCEPTION 'a topup does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER topup_moves_as_listed BEFORE UPDATE OF status ON topups_topup
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION topup_moves_as_listed();

-- The sender was told to write that reference into a transfer of that amount.
CREATE FUNCTION topup_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'topup %: reference, amount and source cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER topup_keeps_its_terms BEFORE UPDATE ON topups_topup
    FOR EACH ROW WHEN (
        (OLD.id, OLD.merchant_id, OLD.reference, OLD.amount, OLD.currency, OLD.initiated_by,
         OLD.source, OLD.expected_at, OLD.request_id, OLD.created_at)
        IS DISTINCT FROM
        (NEW.id, NEW.merchant_id, NEW.reference, NEW.amount, NEW.currency, NEW.initiated_by,
         NEW.source, NEW.expected_at, NEW.request_id, NEW.created_at))
    EXECUTE FUNCTION topup_keeps_its_terms();

CREATE FUNCTION incoming_transfer_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('unmatched', 'assigned'),
        ('unmatched', 'sent_back'),
        ('unmatched', 'reversed'),
        ('matched', 'reversed'),
        ('assigned', 'reversed'),
        ('sent_back', 'reversed')
    ) THEN
        RAISE EXCEPTION 'an incoming transfer does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER incoming_transfer_moves_as_listed BEFORE UPDATE OF status ON topups_incomingtransfer
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION incoming_transfer_moves_as_listed();

-- It stays as the bank told it, with the topup that it once went to.
CREATE FUNCTION incoming_transfer_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'transfer % is kept as the bank told it', OLD.reference
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER incoming_transfer_keeps_its_terms BEFORE UPDATE ON topups_incomingtransfer
    FOR EACH ROW WHEN (
        (OLD.rail, OLD.reference, OLD.remittance, OLD.amount, OLD.currency, OLD.arrived_at,
         OLD.created_at)
        IS DISTINCT FROM
        (NEW.rail, NEW.reference, NEW.remittance, NEW.amount, NEW.currency, NEW.arrived_at,
         NEW.created_at)
        OR (OLD.topup_id IS NOT NULL AND NEW.topup_id IS DISTINCT FROM OLD.topup_id)
        OR (OLD.decided_at IS NOT NULL AND (OLD.reason, OLD.decided_by_id, OLD.decided_at)
            IS DISTINCT FROM (NEW.reason, NEW.decided_by_id, NEW.decided_at)))
    EXECUTE FUNCTION incoming_transfer_stays();
CREATE TRIGGER incoming_transfers_are_kept BEFORE DELETE ON topups_incomingtransfer
    FOR EACH ROW EXECUTE FUNCTION incoming_transfer_stays();
"""

UNDO = """
DROP TRIGGER incoming_transfers_are_kept ON topups_incomingtransfer;
DROP TRIGGER incoming_transfer_keeps_its_terms ON topups_incomingtransfer;
DROP FUNCTION incoming_transfer_stays;
DROP TRIGGER incoming_transfer_moves_as_listed ON topups_incomingtransfer;
DROP FUNCTION incoming_transfer_moves_as_listed;
DROP TRIGGER topup_keeps_its_terms ON topups_topup;
DROP FUNCTION topup_keeps_its_terms;
DROP TRIGGER topup_moves_as_listed ON topups_topup;
DROP FUNCTION topup_moves_as_listed;
ALTER TABLE topups_incomingtransfer DROP CONSTRAINT a_transfers_topup_is_its_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("topups", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
