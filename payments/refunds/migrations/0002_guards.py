"""Guards: a refund refers to rows of its merchant, and its status moves only as listed.

The list is in payments.refunds.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE refunds_refund
    ADD CONSTRAINT a_refunds_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_refunds_attempt_is_the_merchants FOREIGN KEY (merchant_id, attempt_id)
        REFERENCES intents_attempt (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION refund_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('pending', 'succeeded'),
        ('pending', 'failed'),
        ('pending', 'canceled'),
        ('succeeded', 'failed')
    ) THEN
        RAISE EXCEPTION 'a refund does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refund_moves_as_listed BEFORE UPDATE OF status ON refunds_refund
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION refund_moves_as_listed();

-- The money goes back the way it came: to the attempt of this payment that took it.
CREATE FUNCTION refund_is_of_the_attempt_that_took_the_money() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM intents_attempt attempt
        WHERE attempt.id = NEW.attempt_id AND attempt.status = 'succeeded'
          AND (attempt.intent_id, attempt.currency) = (NEW.intent_id, NEW.currency)
    ) THEN
        RAISE EXCEPTION 'refund %: attempt % took no money of this payment', NEW.id, NEW.attempt_id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refund_is_of_the_attempt_that_took_the_money BEFORE INSERT ON refunds_refund
    FOR EACH ROW EXECUTE FUNCTION refund_is_of_the_attempt_that_took_the_money();

-- The bank is asked for what was written down. A void may become a refund, once.
CREATE FUNCTION refund_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'refund %: payment, attempt, reference, amount and method cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER refund_keeps_its_terms BEFORE UPDATE ON refunds_refund
    FOR EACH ROW WHEN (
        (OLD.intent_id, OLD.attempt_id, OLD.acquirer_reference, OLD.amount, OLD.currency,
         OLD.request_id)
        IS DISTINCT FROM
        (NEW.intent_id, NEW.attempt_id, NEW.acquirer_reference, NEW.amount, NEW.currency,
         NEW.request_id)
        OR (OLD.method <> NEW.method
            AND (OLD.status, OLD.method, NEW.method) <> ('pending', 'void', 'refund')))
    EXECUTE FUNCTION refund_keeps_its_terms();
"""

UNDO = """
DROP TRIGGER refund_keeps_its_terms ON refunds_refund;
DROP TRIGGER refund_is_of_the_attempt_that_took_the_money ON refunds_refund;
DROP TRIGGER refund_moves_as_listed ON refunds_refund;
DROP FUNCTION refund_keeps_its_terms;
DROP FUNCTION refund_is_of_the_attempt_that_took_the_money;
DROP FUNCTION refund_moves_as_listed;
ALTER TABLE refunds_refund
    DROP CONSTRAINT a_refunds_attempt_is_the_merchants,
    DROP CONSTRAINT a_refunds_payment_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("intents", "0002_guards"), ("refunds", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
