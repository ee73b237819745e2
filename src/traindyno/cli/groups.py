"""Commands that consist of others."""

import click


class GroupWithDefaults(click.Group):
    """Its commands take what `traindyno.toml` says for all commands, and in a table of their own: `["data make"]`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from traindyno.cli.main import project_defaults

        command = self.find(cmd_name)
        if command is not None:
            defaults = project_defaults(command, f"{self.name} {cmd_name}")
            command.context_settings = {**command.context_settings, "default_map": defaults}
        return command

    def find(self, name: str) -> click.Command | None:
        """The command of that name; a group may have it imported only now."""
        return self.commands.get(name)
