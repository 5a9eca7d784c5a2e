"""Let PostgreSQL count how many cards are domestic: it expected one in 200.

So few it would look for in all payments, and sort them. They take effect with the next ANALYZE.
"""

from django.db import migrations

COUNT = """
CREATE STATISTICS IF NOT EXISTS payments_with_domestic_cards
    ON (card -> 'domestic') FROM intents_paymentintent
"""
UNDO = "DROP STATISTICS IF EXISTS payments_with_domestic_cards"


class Migration(migrations.Migration):
    dependencies = [("intents", "0002_guards")]

    operations = [migrations.RunSQL(COUNT, UNDO)]
