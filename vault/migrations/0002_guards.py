"""The column that says which key a card is sealed with says what the sealed bytes say.

The start check and `keyring remove` go by the column.
"""

from django.db import migrations

GUARDS = """
ALTER TABLE vault_sealedcard ADD CONSTRAINT a_card_names_the_key_it_is_sealed_with CHECK (
    CASE
        WHEN sealed IS NULL THEN true
        WHEN octet_length(sealed) < 2 THEN false
        ELSE encode(substring(sealed FROM 3 FOR get_byte(sealed, 1)), 'escape') = key_id
    END
);
"""

UNDO = "ALTER TABLE vault_sealedcard DROP CONSTRAINT a_card_names_the_key_it_is_sealed_with;"


class Migration(migrations.Migration):
    dependencies = [("vault", "0001_initial")]

    operations = [migrations.RunSQL(GUARDS, UNDO)]
