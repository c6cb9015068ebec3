"""All commands, registered. Where the lab is not installed, its commands say what to install."""

from __future__ import annotations

from frugalbandits.cli import backup, kept, serving, tokens, what_to_install
from frugalbandits.cli.application import NotInstalled, app

__all__ = ["LAB", "app", "backup", "kept", "serving", "stand_in", "tokens"]

#: The commands of the lab.
LAB = (
    "advise",
    "bounds",
    "instance",
    "instances",
    "leaderboard",
    "policies",
    "replay",
    "reproduce",
    "session",
    "simulate",
    "warm-up",
)


def stand_in(name: str, words: str) -> None:
    """Register a command that only says what to install, whatever it is given."""

    def missing() -> None:
        raise NotInstalled(words)

    app.command(
        name,
        help="Not installed: pip install 'frugalbandits[lab]'",
        context_settings={
            "ignore_unknown_options": True,
            "allow_extra_args": True,
            "help_option_names": [],
        },
    )(missing)


try:
    from frugalbandits.cli import laboratory as laboratory
except ModuleNotFoundError as error:
    words = what_to_install(error)
    there = {command.name for command in app.registered_commands}
    there |= {group.name for group in app.registered_groups}
    for each in LAB:
        if each not in there:
            stand_in(each, words)
