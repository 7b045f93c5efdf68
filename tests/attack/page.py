"""docs/security.md: every attack, what must come of it and what came of it. `make attack` writes it.

It says the same in each run in which all attacks are held, so a test compares it without running one.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill

from tests.attack.attack import Attack, Section, Tried

HEAD = """# Attacks that were tried

`make attack` starts the whole service as `docker-compose.yml` does, without its containers: MariaDB, two Redis servers
under the accounts of `deploy/make-accounts`, every process of the Procfile, and nginx with the `nginx.conf` that is
shipped. It carries out each attack of this page, and writes the page. It fails if one attack is not held.

Two apps have keys: `shop`, which has something to lose, and `bank`, which attacks it. A status with a code is an answer
of the API ([errors](api-errors.md)). "Of each" means that all requests of the row were answered so.

What is protected and what is not, and how to report a weakness: `SECURITY.md` of the checkout.
"""
SUMMARY = ("section", "OWASP API Security Top 10 (2023)", "attacks", "held")
ROW = ("attack", "must happen", "happened")


def page(sections: Sequence[Section], tried: Mapping[Attack, Tried]) -> str:
    """Return the page."""
    return "\n".join([HEAD, _summary(sections, tried), *(_section(one, tried) for one in sections)])


def totals(sections: Sequence[Section], tried: Mapping[Attack, Tried]) -> str:
    """Return how many attacks were tried, and how many are held."""
    attacks = [attack for section in sections for attack in section.attacks]
    return f"{len(attacks)} attacks, {sum(tried[one].is_held for one in attacks)} held"


def _summary(sections: Sequence[Section], tried: Mapping[Attack, Tried]) -> str:
    lines = [_line(SUMMARY), _line(["---"] * len(SUMMARY))]
    for section in sections:
        held = sum(tried[one].is_held for one in section.attacks)
        lines.append(_line([section.name, ", ".join(section.risks), str(len(section.attacks)), str(held)]))
    return "\n".join([f"In all: {totals(sections, tried)}.\n", *lines, ""])


def _section(section: Section, tried: Mapping[Attack, Tried]) -> str:
    lines = [f"## {section.name}\n", f"{fill(section.words, 120)}\n", _line(ROW), _line(["---"] * len(ROW))]
    lines += [_line([one.tried, one.expected, _happened(tried[one])]) for one in section.attacks]
    return "\n".join([*lines, ""])


def _happened(one: Tried) -> str:
    return one.happened if one.is_held else f"**NOT HELD:** {one.happened}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
