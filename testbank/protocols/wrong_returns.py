"""Ways in which a gate's return may be wrong before it is signed, alike in both protocols."""

from collections.abc import Mapping

TURKISH = "ISO-8859-9"
NATIONAL_ID = "10000000146"
FIELDS = 65


def changed(
    wrong: str, fields: dict[str, str], *, amount: Mapping[str, str], md_status: str, to_come: int
) -> dict[str, str]:
    """Return the fields with what is wrong about them.

    :param amount: another amount, by the protocol's name of it.
    :param md_status: the protocol's name of that field.
    :param to_come: how many fields the signature adds.
    """
    match wrong:
        case "changed_amount":
            return {**fields, **amount}
        case "turkish_letters":
            return {**fields, "encoding": TURKISH}
        case "no_md_status":
            return {name: text for name, text in fields.items() if name != md_status}
        case "doubled_name":
            return {**fields, md_status.upper(): "1"}
        case "many_fields":
            missing = range(FIELDS - to_come - len(fields))
            return fields | {f"EXTRA_{number}": "" for number in map(_letters, missing)}
    return fields


def _letters(number: int) -> str:
    return chr(65 + number // 26) + chr(65 + number % 26)
