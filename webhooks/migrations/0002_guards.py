"""Rows point at rows of the same merchant, and an attempt that was made stays as it went."""

from django.db import migrations

GUARDS = """
ALTER TABLE webhooks_delivery
    ADD CONSTRAINT a_deliverys_endpoint_is_the_merchants FOREIGN KEY (merchant_id, endpoint_id)
        REFERENCES webhooks_endpoint (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_deliverys_event_is_the_merchants FOREIGN KEY (merchant_id, event_id)
        REFERENCES events_event (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_lane
    ADD CONSTRAINT a_lanes_endpoint_is_the_merchants FOREIGN KEY (merchant_id, endpoint_id)
        REFERENCES webhooks_endpoint (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_signingsecret
    ADD CONSTRAINT a_secrets_endpoint_is_the_merchants FOREIGN KEY (merchant_id, endpoint_id)
        REFERENCES webhooks_endpoint (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION delivery_stays_as_it_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'delivery % is over', OLD.id USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_delivery_stays_as_it_went BEFORE UPDATE OF status ON webhooks_delivery
    FOR EACH ROW WHEN (OLD.status <> 'pending' AND NEW.status <> OLD.status)
    EXECUTE FUNCTION delivery_stays_as_it_went();
"""

UNDO = """
DROP TRIGGER a_delivery_stays_as_it_went ON webhooks_delivery;
DROP FUNCTION delivery_stays_as_it_went;
ALTER TABLE webhooks_signingsecret DROP CONSTRAINT a_secrets_endpoint_is_the_merchants;
ALTER TABLE webhooks_lane DROP CONSTRAINT a_lanes_endpoint_is_the_merchants;
ALTER TABLE webhooks_delivery
    DROP CONSTRAINT a_deliverys_event_is_the_merchants,
    DROP CONSTRAINT a_deliverys_endpoint_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
