"""Guards: the bank's book forgets nothing, and moved money and sent notices never change."""

from django.db import migrations

# Of which nothing is ever deleted.
KEPT = (
    "authentication", "authorization", "refund", "dispute", "noticecounter", "fraudreport",
    "transfer", "incomingtransfer", "transfernoticecounter", "nestpayvisit", "garantivisit",
    "misbehaviour",
)  # fmt: skip
# Money that was moved, evidence, notices: neither changed nor deleted.
UNCHANGED = (
    "capture", "reversal", "repayment", "bounce", "chargeback", "recovery", "evidence", "notice",
    "transfermove", "incomingmove", "transfernotice", "nestpayline", "garantiline",
)  # fmt: skip

FUNCTION = """
CREATE FUNCTION banks_book_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the bank''s book is kept: % of % refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
"""
GUARD = """
CREATE TRIGGER the_book_is_kept BEFORE {events} ON testbank_{table}
    FOR EACH ROW EXECUTE FUNCTION banks_book_stays();
"""
GUARDS = FUNCTION + "".join(
    GUARD.format(events=events, table=table)
    for events, tables in (("DELETE", KEPT), ("UPDATE OR DELETE", UNCHANGED))
    for table in tables
)
UNDO = (
    "".join(f"DROP TRIGGER the_book_is_kept ON testbank_{table};" for table in (*KEPT, *UNCHANGED))
    + "DROP FUNCTION banks_book_stays;"
)


class Migration(migrations.Migration):
    dependencies = [("testbank", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
