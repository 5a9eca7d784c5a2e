"""Model fields that several rooms share."""

from typing import Any

import orjson
from django.core import checks
from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.fields.json import KeyTransform

from core.mail import ADDRESS_LENGTH_MAX, require_address
from core.names import email_key, is_legible


class CodeField(models.CharField):
    """Ids, references and keys: text that is compared by its bytes, the same on every machine.

    An index in that order finds by a beginning, too. So it needs no second index for LIKE, which
    Django makes for each `varchar` and knows by that name; PostgreSQL has another one for it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options, db_collation="C")

    def deconstruct(self) -> Any:
        """Return what a migration needs to make it again."""
        name, path, args, options = super().deconstruct()
        del options["db_collation"]
        return name, path, args, options

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return f"character varying({self.max_length})"


class AddressField(models.EmailField):
    """An e-mail address; a new one is refused as `core.mail.require_address` does."""

    default_validators = [require_address]

    def deconstruct(self) -> Any:
        """Return Django's own field: to a migration it is nothing else."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.EmailField", args, options


def require_legible(name: str) -> None:
    """:raises ValidationError: the name is no line that people can read."""
    if not is_legible(name):
        raise ValidationError("Must be one line, with something to see in it.", code="illegible")


class NameField(models.CharField):
    """A name that people read (`core.names.is_legible`)."""

    default_validators = [require_legible]

    def deconstruct(self) -> Any:
        """Return Django's own field: to a migration it is nothing else."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.CharField", args, options


class EmailKeyField(CodeField):
    """The key (`core.names.email_key`) of the address in another field, written with the row.

    :param of: that field's name.
    """

    def __init__(self, *, of: str = "email", **options: Any) -> None:
        self.of = of
        super().__init__(**{**options, "max_length": ADDRESS_LENGTH_MAX, "editable": False})

    def deconstruct(self) -> Any:
        """Return a code: to a migration it is nothing else."""
        name, _path, args, options = super().deconstruct()
        return name, "core.fields.CodeField", args, options

    def pre_save(self, model_instance: models.Model, add: bool) -> str | None:
        """Return the key of the address that is written in the same statement."""
        address = getattr(model_instance, self.of)
        key = email_key(address) if address else None
        setattr(model_instance, self.attname, key)
        return key


def id_field(**options: Any) -> CodeField:
    """Return a primary key of our own ids."""
    return CodeField(primary_key=True, max_length=40, editable=False, **options)


class JSONField(models.JSONField):
    """JSON, read by orjson: a page of a hundred payments has hundreds of these to read."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        if self.decoder or type(value) is not str or isinstance(expression, KeyTransform):
            return super().from_db_value(value, expression, connection)
        return orjson.loads(value)

    def deconstruct(self) -> Any:
        """Return Django's own field: to a migration it is nothing else."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options


class SealedField(models.BinaryField):
    """Bytes that the key ring sealed, or null; `vault_rotate` finds every column of this class.

    The model says in a property `seal_context` what the bytes are bound to.

    :param key_id_field: the field that names the key they are sealed with, indexed; without
        one it stands in their first bytes, and every row must be read.
    """

    def __init__(self, *args: Any, key_id_field: str | None = None, **options: Any) -> None:
        self.key_id_field = key_id_field
        super().__init__(*args, **options)

    def deconstruct(self) -> Any:
        """Return a plain binary field: to a migration it is nothing else."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.BinaryField", args, options

    def check(self, **options: Any) -> list[checks.CheckMessage]:
        """Report a model that does not say what its sealed bytes are bound to."""
        found = list(super().check(**options))
        if not hasattr(self.model, "seal_context"):
            hint = f"Give {self.model._meta.label} a property `seal_context`."
            found.append(checks.Error("Sealed bytes need a context.", hint, self, "core.E001"))
        return found
