"""`wangtimer settings`: every setting, its value and its reason."""

import click

from wangtimer.base.attribute_docstrings import attribute_docstrings
from wangtimer.base.settings import ENV_PREFIX, Settings, read_settings
from wangtimer.base.shown_url import shown_url
from wangtimer.cli.terminal.once import OnceCommand


@click.command(cls=OnceCommand)
@click.option(
    "--markdown", is_flag=True, help="Print the table of the documentation: defaults instead of values."
)
def settings(markdown: bool) -> None:
    """Show every setting: its variable, its value, its meaning."""
    click.echo(markdown_table() if markdown else _present())


def markdown_table() -> str:
    """Return every setting with its default as a Markdown table."""
    rows, meanings = ["| variable | default | meaning |", "|---|---|---|"], _meanings()
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append(f"| `{ENV_PREFIX}{name.upper()}` | {default} | {meanings[name] or ''} |")
    return "\n".join(rows)


def _present() -> str:
    values, meanings = read_settings().model_dump(), _meanings()
    lines = []
    for name in Settings.model_fields:
        lines.append(f"{ENV_PREFIX}{name.upper()}={_safe(name, values[name])}")
        lines.append(f"    {meanings[name] or ''}")
    return "\n".join(lines)


def _meanings() -> dict[str, str | None]:
    """Return what each setting means: the text below it, or a description that is worked out."""
    described = {name: field.description for name, field in Settings.model_fields.items()}
    return described | attribute_docstrings(Settings)


def _safe(name: str, value: object) -> str:
    """Return the value without the secrets a URL may carry."""
    text = "" if value is None else str(value)
    return shown_url(text) if name.endswith("_url") else text
