"""Runs `fugato skill …`."""

import os
import subprocess

from .errors import from_message


def run(*arguments):
    """The finished process: its exit code, standard output and standard error."""
    command = [os.environ["FUGATO_BIN"], "skill", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)


def output(*arguments):
    """Standard output of a command that must succeed."""
    done = run(*arguments)
    if done.returncode != 0:
        raise from_message(done.stderr.strip().removeprefix("Error: "))
    return done.stdout
