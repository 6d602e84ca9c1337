"""The Python API of the reference package, answered by the `fugato` binary named by FUGATO_BIN.

With this directory first on PYTHONPATH, the reference package's own tests test fugato.
"""

from .errors import ParseError, SkillError, ValidationError
from .models import SkillProperties
from .parser import find_skill_md, read_properties
from .prompt import to_prompt
from .validator import validate

__all__ = [
    "ParseError",
    "SkillError",
    "SkillProperties",
    "ValidationError",
    "find_skill_md",
    "read_properties",
    "to_prompt",
    "validate",
]
