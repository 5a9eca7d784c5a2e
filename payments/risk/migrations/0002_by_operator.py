"""A list's entry notes whether an operator wrote it: rights of people change afterwards."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("risk", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="listentry",
            name="by_operator",
            field=models.BooleanField(null=True),
        ),
    ]
