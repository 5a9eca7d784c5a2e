"""The table of Django's cache, which counts the tries of forms and the codes that were used."""

from django.db import migrations

TABLE = """
CREATE TABLE sign_in_cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX sign_in_cache_expires ON sign_in_cache (expires);
"""


class Migration(migrations.Migration):
    dependencies = [("merchants", "0002_guards")]

    operations = [migrations.RunSQL(TABLE, "DROP TABLE sign_in_cache")]
