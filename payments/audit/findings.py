from dataclasses import dataclass, field


@dataclass(slots=True)
class Findings:
    """What one check found: how much it looked at, and a sentence with ids per difference.

    :param unknown: what nobody knows yet, which is no difference.
    """

    name: str
    looked_at: int = 0
    differences: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
