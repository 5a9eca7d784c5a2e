"""Guards: a case is its attempt's merchant's, moves as listed, and its history is append-only.

The list is in cases.states; tests compare the two.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE cases_case
    ADD CONSTRAINT a_cases_payment_is_the_merchants FOREIGN KEY (merchant_id, intent_id)
        REFERENCES intents_paymentintent (merchant_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT a_cases_attempt_is_the_merchants FOREIGN KEY (merchant_id, attempt_id)
        REFERENCES intents_attempt (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE cases_casenote
    ADD CONSTRAINT a_notes_case_is_the_merchants FOREIGN KEY (merchant_id, case_id)
        REFERENCES cases_case (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE cases_casechange
    ADD CONSTRAINT a_changes_case_is_the_merchants FOREIGN KEY (merchant_id, case_id)
        REFERENCES cases_case (merchant_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION case_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('open', 'resolved'),
        ('resolved', 'open')
    ) THEN
        RAISE EXCEPTION 'a case does not move from % to %', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER case_moves_as_listed BEFORE UPDATE OF status ON cases_case
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION case_moves_as_listed();

CREATE FUNCTION case_keeps_its_subject() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'case %: it stays, with its payment, attempt and amount', OLD.id
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER a_case_keeps_its_subject BEFORE UPDATE ON cases_case
    FOR EACH ROW WHEN (
        (OLD.id, OLD.merchant_id, OLD.intent_id, OLD.attempt_id, OLD.amount, OLD.currency,
         OLD.opened_at)
        IS DISTINCT FROM
        (NEW.id, NEW.merchant_id, NEW.intent_id, NEW.attempt_id, NEW.amount, NEW.currency,
         NEW.opened_at))
    EXECUTE FUNCTION case_keeps_its_subject();
CREATE TRIGGER cases_stay BEFORE DELETE ON cases_case
    FOR EACH ROW EXECUTE FUNCTION case_keeps_its_subject();

CREATE FUNCTION cases_history_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'notes and history of cases are append-only'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER notes_are_append_only BEFORE UPDATE OR DELETE ON cases_casenote
    FOR EACH ROW EXECUTE FUNCTION cases_history_is_append_only();
CREATE TRIGGER notes_are_not_truncated BEFORE TRUNCATE ON cases_casenote
    FOR EACH STATEMENT EXECUTE FUNCTION cases_history_is_append_only();
CREATE TRIGGER changes_are_append_only BEFORE UPDATE OR DELETE ON cases_casechange
    FOR EACH ROW EXECUTE FUNCTION cases_history_is_append_only();
CREATE TRIGGER changes_are_not_truncated BEFORE TRUNCATE ON cases_casechange
    FOR EACH STATEMENT EXECUTE FUNCTION cases_history_is_append_only();
"""

UNDO = """
DROP TRIGGER changes_are_not_truncated ON cases_casechange;
DROP TRIGGER changes_are_append_only ON cases_casechange;
DROP TRIGGER notes_are_not_truncated ON cases_casenote;
DROP TRIGGER notes_are_append_only ON cases_casenote;
DROP FUNCTION cases_history_is_append_only;
DROP TRIGGER cases_stay ON cases_case;
DROP TRIGGER a_case_keeps_its_subject ON cases_case;
DROP FUNCTION case_keeps_its_subject;
DROP TRIGGER case_moves_as_listed ON cases_case;
DROP FUNCTION case_moves_as_listed;
ALTER TABLE cases_casechange DROP CONSTRAINT a_changes_case_is_the_merchants;
ALTER TABLE cases_casenote DROP CONSTRAINT a_notes_case_is_the_merchants;
ALTER TABLE cases_case
    DROP CONSTRAINT a_cases_attempt_is_the_merchants,
    DROP CONSTRAINT a_cases_payment_is_the_merchants;
"""


class Migration(migrations.Migration):
    dependencies = [("cases", "0001_initial"), ("intents", "0002_guards")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
