"""Validation, by `fugato skill validate`."""

from .binary import run


def validate(skill_dir):
    """Every message of the binary, one per `  - ` line; empty for a valid skill."""
    done = run("validate", skill_dir)
    if done.returncode == 0:
        return []
    messages = []
    for line in done.stderr.splitlines():
        if line.startswith("  - "):
            messages.append(line.removeprefix("  - "))
        elif messages:
            messages[-1] += "\n" + line
    # A path that is no skill directory is told without a list.
    return messages or [done.stderr.strip().removeprefix("Error: ")]
