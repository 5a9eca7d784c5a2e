"""Guards: a session is of its merchant's payment, its terms stay, and its end is final.

The changes of status are listed in payments.checkout.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE checkout_checkoutsession
    ADD CONSTRAINT a_sessions_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_sessions_customer_is_the_merchants FOREIGN KEY (merchant_id, customer_id)
        REFERENCES customers_customer (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION checkout_session_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('open', 'complete'),
        ('open', 'expired')
    ) THEN
        RAISE EXCEPTION 'a checkout session does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER checkout_session_moves_as_listed BEFORE UPDATE OF status ON checkout_checkoutsession
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION checkout_session_moves_as_listed();

-- A payer pays what the merchant has asked for.
CREATE FUNCTION checkout_session_keeps_its_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'checkout session %: payment, addresses, terms and end cannot change', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER checkout_session_keeps_its_terms BEFORE UPDATE ON checkout_checkoutsession
    FOR EACH ROW WHEN (
        (OLD.merchant_id, OLD.intent_id, OLD.made_payment, OLD.success_url, OLD.cancel_url,
         OLD.locale, OLD.client_reference_id, OLD.customer_id, OLD.billing_details,
         OLD.three_d_secure, OLD.installments_max, OLD.expires_at, OLD.created_at)
        IS DISTINCT FROM
        (NEW.merchant_id, NEW.intent_id, NEW.made_payment, NEW.success_url, NEW.cancel_url,
         NEW.locale, NEW.client_reference_id, NEW.customer_id, NEW.billing_details,
         NEW.three_d_secure, NEW.installments_max, NEW.expires_at, NEW.created_at)
        -- Once it has ended, only its metadata may change.
        OR (OLD.status <> 'open'
            AND (OLD.expiration_reason, OLD.tries, OLD.customer_details, OLD.ended_at)
                IS DISTINCT FROM
                (NEW.expiration_reason, NEW.tries, NEW.customer_details, NEW.ended_at)))
    EXECUTE FUNCTION checkout_session_keeps_its_terms();
"""

UNDO = """
DROP TRIGGER checkout_session_keeps_its_terms ON checkout_checkoutsession;
DROP TRIGGER checkout_session_moves_as_listed ON checkout_checkoutsession;
DROP FUNCTION checkout_session_keeps_its_terms;
DROP FUNCTION checkout_session_moves_as_listed;
ALTER TABLE checkout_checkoutsession
    DROP CONSTRAINT a_sessions_customer_is_the_merchants,
    DROP CONSTRAINT a_sessions_payment_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("intents", "0002_guards"),
        ("customers", "0001_initial"),
        ("checkout", "0001_initial"),
    ]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
