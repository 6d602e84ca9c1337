"""The properties of a skill."""

from dataclasses import dataclass, field
from typing import Optional


@dataclass
class SkillProperties:
    name: str
    description: str
    license: Optional[str] = None
    compatibility: Optional[str] = None
    allowed_tools: Optional[str] = None
    metadata: dict = field(default_factory=dict)

    def to_dict(self):
        fields = {
            "name": self.name,
            "description": self.description,
            "license": self.license,
            "compatibility": self.compatibility,
            "allowed-tools": self.allowed_tools,
            "metadata": self.metadata or None,
        }
        return {key: value for key, value in fields.items() if value is not None}
