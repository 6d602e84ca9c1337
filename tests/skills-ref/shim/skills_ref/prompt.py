"""The block for prompts, by `fugato skill to-prompt`."""

from .binary import output


def to_prompt(skill_dirs):
    if not skill_dirs:
        # The command needs a directory, in the reference too.
        return "<available_skills>\n</available_skills>"
    return output("to-prompt", *skill_dirs).removesuffix("\n")
