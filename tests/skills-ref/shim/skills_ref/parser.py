"""Reading, by `fugato skill read-properties`."""

import json
import tempfile
from pathlib import Path

from .binary import output
from .errors import ParseError, ValidationError
from .models import SkillProperties

__all__ = ["ParseError", "ValidationError", "find_skill_md", "parse_frontmatter", "read_properties"]


def find_skill_md(skill_dir):
    """The file that describes a skill; upper case first."""
    candidates = (Path(skill_dir) / name for name in ("SKILL.md", "skill.md"))
    return next((path for path in candidates if path.exists()), None)


def parse_frontmatter(content):
    """All fields of the frontmatter, and the body."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "SKILL.md"
        path.write_text(content, encoding="utf-8", newline="")
        parsed = json.loads(output("read-properties", "--frontmatter", path))
    return parsed["frontmatter"], parsed["body"]


def read_properties(skill_dir):
    fields = json.loads(output("read-properties", skill_dir))
    return SkillProperties(
        name=fields["name"],
        description=fields["description"],
        license=fields.get("license"),
        compatibility=fields.get("compatibility"),
        allowed_tools=fields.get("allowed-tools"),
        metadata=fields.get("metadata", {}),
    )
