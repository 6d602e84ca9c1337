"""Exceptions, chosen by what the binary says."""


class SkillError(Exception):
    """Whatever can be wrong with a skill."""


class ParseError(SkillError):
    """The file is missing or cannot be read."""


class ValidationError(SkillError):
    """A required field is missing or empty."""

    def __init__(self, message, errors=None):
        super().__init__(message)
        self.errors = [message] if errors is None else errors


def from_message(message):
    """The exception the reference raises with this message."""
    is_validation = message.startswith(("Missing required field", "Field '"))
    return ValidationError(message) if is_validation else ParseError(message)
