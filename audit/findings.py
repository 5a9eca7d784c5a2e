from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    """The findings of one check.

    :param looked_at: the number of rows that the check compared.
    :param differences: one sentence per difference, with the ids it concerns.
    :param unknown: one sentence per attempt whose outcome is not known yet; no difference.
    """

    name: str
    looked_at: int = 0
    differences: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
