"""A dispute that was won may be lost after all: the bank's later decision wins."""

from django.db import migrations

MOVES = """
CREATE OR REPLACE FUNCTION dispute_moves_as_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.status, NEW.status) NOT IN (
        ('needs_response', 'under_review'),
        ('needs_response', 'won'),
        ('needs_response', 'lost'),
        ('under_review', 'won'),
        ('under_review', 'lost'),
        ('lost', 'won'),%s
        ('warning_needs_response', 'warning_under_review'),
        ('warning_needs_response', 'warning_closed'),
        ('warning_needs_response', 'needs_response'),
        ('warning_under_review', 'warning_closed'),
        ('warning_under_review', 'needs_response'),
        ('warning_closed', 'needs_response')
    ) THEN
        RAISE EXCEPTION 'a dispute does not move from %% to %%', OLD.status, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
"""
NOW, BEFORE = MOVES % "\n        ('won', 'lost'),", MOVES % ""


class Migration(migrations.Migration):
    dependencies = [("disputes", "0002_guards")]

    operations = [migrations.RunSQL(NOW, BEFORE)]
