"""Guards: rows refer to rows of the same merchant only, and a status moves only as listed.

The lists are in payments.disputes.states; tests compare them.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE disputes_dispute
    ADD CONSTRAINT a_disputes_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_disputes_attempt_is_the_merchants FOREIGN KEY (merchant_id, attempt_id)
        REFERENCES intents_attempt (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE disputes_disputedelivery
    ADD CONSTRAINT a_deliverys_dispute_is_the_merchants FOREIGN KEY (merchant_id, dispute_id)
        REFERENCES disputes_dispute (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION dispute_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('needs_response', 'under_review'),
        ('needs_response', 'won'),
        ('needs_response', 'lost'),
        ('under_review', 'won'),
        ('under_review', 'lost'),
        ('lost', 'won'),
        ('warning_needs_response', 'warning_under_review'),
        ('warning_needs_response', 'warning_closed'),
        ('warning_needs_response', 'needs_response'),
        ('warning_under_review', 'warning_closed'),
        ('warning_under_review', 'needs_response'),
        ('warning_closed', 'needs_response')
    ) THEN
        RAISE EXCEPTION 'a dispute does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER dispute_moves_as_listed BEFORE UPDATE OF status ON disputes_dispute
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION dispute_moves_as_listed();

-- Its money was moved on these terms. Those of an inquiry count when it is charged back.
CREATE FUNCTION dispute_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'dispute %: payment, amount and currency cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER dispute_keeps_its_payment BEFORE UPDATE ON disputes_dispute
    FOR EACH ROW WHEN (
        (OLD.intent_id, OLD.attempt_id, OLD.bank_reference, OLD.currency)
        IS DISTINCT FROM
        (NEW.intent_id, NEW.attempt_id, NEW.bank_reference, NEW.currency))
    EXECUTE FUNCTION dispute_keeps_its_terms();
CREATE TRIGGER dispute_keeps_its_amount BEFORE UPDATE ON disputes_dispute
    FOR EACH ROW WHEN (
        OLD.amount IS DISTINCT FROM NEW.amount AND OLD.status NOT LIKE 'warning%')
    EXECUTE FUNCTION dispute_keeps_its_terms();

CREATE FUNCTION dispute_delivery_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('owed', 'acknowledged'),
        ('owed', 'refused'),
        ('owed', 'superseded')
    ) THEN
        RAISE EXCEPTION 'a delivery does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER dispute_delivery_moves_as_listed BEFORE UPDATE OF status ON disputes_disputedelivery
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION dispute_delivery_moves_as_listed();

-- The bank is sent what was submitted, each time the same.
CREATE FUNCTION dispute_delivery_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'delivery %: dispute, kind, number and evidence cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER dispute_delivery_keeps_its_terms BEFORE UPDATE ON disputes_disputedelivery
    FOR EACH ROW WHEN (
        (OLD.dispute_id, OLD.kind, OLD.number, OLD.evidence, OLD.request_id)
        IS DISTINCT FROM
        (NEW.dispute_id, NEW.kind, NEW.number, NEW.evidence, NEW.request_id))
    EXECUTE FUNCTION dispute_delivery_keeps_its_terms();
"""

UNDO = """
DROP TRIGGER dispute_delivery_keeps_its_terms ON disputes_disputedelivery;
DROP TRIGGER dispute_delivery_moves_as_listed ON disputes_disputedelivery;
DROP TRIGGER dispute_keeps_its_amount ON disputes_dispute;
DROP TRIGGER dispute_keeps_its_payment ON disputes_dispute;
DROP TRIGGER dispute_moves_as_listed ON disputes_dispute;
DROP FUNCTION dispute_delivery_keeps_its_terms;
DROP FUNCTION dispute_delivery_moves_as_listed;
DROP FUNCTION dispute_keeps_its_terms;
DROP FUNCTION dispute_moves_as_listed;
ALTER TABLE disputes_disputedelivery DROP CONSTRAINT a_deliverys_dispute_is_the_merchants;
ALTER TABLE disputes_dispute
    DROP CONSTRAINT a_disputes_attempt_is_the_merchants,
    DROP CONSTRAINT a_disputes_payment_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("disputes", "0001_initial"), ("intents", "0002_guards")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
