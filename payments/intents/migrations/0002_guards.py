"""Guards: rows refer to rows of the same merchant only, and a status moves only as listed.

The list is in payments.intents.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE intents_paymentintent
    ADD CONSTRAINT a_payments_customer_is_the_merchants FOREIGN KEY (merchant_id, customer_id)
        REFERENCES customers_customer (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_payments_card_is_the_merchants FOREIGN KEY (merchant_id, sealed_card_id)
        REFERENCES vault_sealedcard (merchant_id, token) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE intents_attempt
    ADD CONSTRAINT an_attempts_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT an_attempts_card_is_the_merchants FOREIGN KEY (merchant_id, sealed_card_id)
        REFERENCES vault_sealedcard (merchant_id, token) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE intents_modification
    ADD CONSTRAINT a_modifications_attempt_is_the_merchants FOREIGN KEY (merchant_id, attempt_id)
        REFERENCES intents_attempt (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE intents_lineitem
    ADD CONSTRAINT a_line_items_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE intents_metadataentry
    ADD CONSTRAINT an_entrys_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION payment_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('requires_payment_method', 'requires_action'),
        ('requires_payment_method', 'processing'),
        ('requires_payment_method', 'requires_capture'),
        ('requires_payment_method', 'succeeded'),
        ('requires_payment_method', 'canceled'),
        ('requires_confirmation', 'requires_action'),
        ('requires_confirmation', 'processing'),
        ('requires_confirmation', 'requires_capture'),
        ('requires_confirmation', 'succeeded'),
        ('requires_confirmation', 'requires_payment_method'),
        ('requires_confirmation', 'canceled'),
        ('requires_action', 'processing'),
        ('requires_action', 'requires_capture'),
        ('requires_action', 'succeeded'),
        ('requires_action', 'requires_payment_method'),
        ('requires_action', 'canceled'),
        ('processing', 'requires_capture'),
        ('processing', 'succeeded'),
        ('processing', 'requires_payment_method'),
        ('processing', 'canceled'),
        ('requires_capture', 'succeeded'),
        ('requires_capture', 'processing'),
        ('requires_capture', 'requires_payment_method'),
        ('requires_capture', 'canceled')
    ) THEN
        RAISE EXCEPTION 'a payment does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_moves_as_listed BEFORE UPDATE OF status ON intents_paymentintent
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION payment_moves_as_listed();

-- A payment's day may have been counted by then (payments.intents.counted_days). Compared here, not
-- in the trigger's WHEN, which knows no clock that can be moved. A mark that is there is enough, and
-- is locked: the job leaves it until this transaction has ended. A mark that the job has locked is
-- not: it may have counted the day already. Neither waits for the other.
CREATE FUNCTION payment_changes_late() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    quarter timestamptz;
BEGIN
    IF NEW.created_at < statement_timestamp() - interval '10 minutes'
            + coalesce((SELECT offset_seconds FROM core_clock), 0) * interval '1 second'
        AND (OLD.status, OLD.currency, OLD.captured_minor, OLD.installments, OLD.card,
             OLD.last_payment_error)
            IS DISTINCT FROM
            (NEW.status, NEW.currency, NEW.captured_minor, NEW.installments, NEW.card,
             NEW.last_payment_error)
    THEN
        -- Each zone's midnight is on a quarter of an hour.
        quarter := date_bin('15 minutes', NEW.created_at, 'epoch');
        PERFORM FROM intents_latechange
        WHERE merchant_id = NEW.merchant_id AND created_at = quarter
        LIMIT 1 FOR KEY SHARE SKIP LOCKED;
        IF NOT FOUND THEN
            INSERT INTO intents_latechange (merchant_id, created_at)
            VALUES (NEW.merchant_id, quarter);
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_changes_late BEFORE UPDATE ON intents_paymentintent
    FOR EACH ROW EXECUTE FUNCTION payment_changes_late();

-- The card that the payer and the merchant are shown is the card that the bank is sent.
CREATE FUNCTION attempt_shows_the_card_it_sends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM vault_sealedcard sealed
        WHERE sealed.token = NEW.sealed_card_id
          AND (sealed.bin, sealed.last4) = (NEW.card ->> 'bin', NEW.card ->> 'last4')
    ) THEN
        RAISE EXCEPTION 'attempt % shows another card than it sends', NEW.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER an_attempt_shows_the_card_it_sends BEFORE INSERT ON intents_attempt
    FOR EACH ROW EXECUTE FUNCTION attempt_shows_the_card_it_sends();

-- An attempt, open or closed, keeps its terminal, card and money terms.
CREATE FUNCTION attempt_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('processing', 'requires_action'),
        ('processing', 'authorized'),
        ('processing', 'succeeded'),
        ('processing', 'failed'),
        ('requires_action', 'processing'),
        ('requires_action', 'authorized'),
        ('requires_action', 'succeeded'),
        ('requires_action', 'abandoned'),
        ('requires_action', 'canceled'),
        ('authorized', 'succeeded'),
        ('authorized', 'failed'),
        ('authorized', 'canceled')
    ) THEN
        RAISE EXCEPTION 'an attempt does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- Compared here, not in the trigger's WHEN: PostgreSQL reads a WHEN anew for each UPDATE, which
-- takes longer than to compare.
CREATE FUNCTION attempt_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.amount, OLD.surcharge, OLD.currency, OLD.intent_id, OLD.acquirer_reference,
        OLD.sealed_card_id, OLD.card, OLD.capture_method, OLD.installments, OLD.terminal_id,
        OLD.surcharge_rate_bps, OLD.program)
        IS DISTINCT FROM
       (NEW.amount, NEW.surcharge, NEW.currency, NEW.intent_id, NEW.acquirer_reference,
        NEW.sealed_card_id, NEW.card, NEW.capture_method, NEW.installments, NEW.terminal_id,
        NEW.surcharge_rate_bps, NEW.program)
    THEN
        RAISE EXCEPTION 'attempt %: terminal, card and money terms cannot change', OLD.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER attempt_moves_as_listed BEFORE UPDATE OF status ON intents_attempt
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION attempt_moves_as_listed();
CREATE TRIGGER an_attempts_terms_are_fixed BEFORE UPDATE ON intents_attempt
    FOR EACH ROW EXECUTE FUNCTION attempt_keeps_its_terms();

CREATE FUNCTION modification_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('processing', 'succeeded'),
        ('processing', 'failed'),
        ('processing', 'superseded'),
        ('failed', 'succeeded')
    ) THEN
        RAISE EXCEPTION 'a modification does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER modification_moves_as_listed BEFORE UPDATE OF status ON intents_modification
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION modification_moves_as_listed();

-- The bank is asked for what was written down: the row keeps its terms.
CREATE FUNCTION modification_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'modification %: attempt, kind and amount cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER modification_keeps_its_terms BEFORE UPDATE ON intents_modification
    FOR EACH ROW WHEN (
        (OLD.attempt_id, OLD.kind, OLD.amount, OLD.reason, OLD.request_id)
        IS DISTINCT FROM
        (NEW.attempt_id, NEW.kind, NEW.amount, NEW.reason, NEW.request_id))
    EXECUTE FUNCTION modification_keeps_its_terms();

-- The currency is fixed from the first attempt on.
CREATE FUNCTION payment_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM intents_attempt WHERE intent_id = OLD.id) THEN
        RAISE EXCEPTION 'payment % has an attempt: its amount and currency are fixed', OLD.id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER payment_keeps_its_terms BEFORE UPDATE OF amount, currency ON intents_paymentintent
    FOR EACH ROW WHEN ((OLD.amount, OLD.currency) IS DISTINCT FROM (NEW.amount, NEW.currency))
    EXECUTE FUNCTION payment_keeps_its_terms();
"""

UNDO = """
DROP TRIGGER payment_changes_late ON intents_paymentintent;
DROP FUNCTION payment_changes_late;
DROP TRIGGER payment_keeps_its_terms ON intents_paymentintent;
DROP TRIGGER modification_keeps_its_terms ON intents_modification;
DROP TRIGGER modification_moves_as_listed ON intents_modification;
DROP TRIGGER an_attempts_terms_are_fixed ON intents_attempt;
DROP TRIGGER attempt_moves_as_listed ON intents_attempt;
DROP TRIGGER payment_moves_as_listed ON intents_paymentintent;
DROP FUNCTION payment_keeps_its_terms;
DROP FUNCTION modification_keeps_its_terms;
DROP FUNCTION modification_moves_as_listed;
DROP FUNCTION attempt_keeps_its_terms;
DROP FUNCTION attempt_moves_as_listed;
DROP TRIGGER an_attempt_shows_the_card_it_sends ON intents_attempt;
DROP FUNCTION attempt_shows_the_card_it_sends;
DROP FUNCTION payment_moves_as_listed;
ALTER TABLE intents_metadataentry DROP CONSTRAINT an_entrys_payment_is_the_merchants;
ALTER TABLE intents_modification DROP CONSTRAINT a_modifications_attempt_is_the_merchants;
ALTER TABLE intents_lineitem DROP CONSTRAINT a_line_items_payment_is_the_merchants;
ALTER TABLE intents_attempt
    DROP CONSTRAINT an_attempts_card_is_the_merchants,
    DROP CONSTRAINT an_attempts_payment_is_the_merchants;
ALTER TABLE intents_paymentintent
    DROP CONSTRAINT a_payments_card_is_the_merchants,
    DROP CONSTRAINT a_payments_customer_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("customers", "0001_initial"), ("intents", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
