"""All attacks, section by section, in the order in which they are carried out.

A new attack is a row of its section's module; a new section is a module and a line here. `make attack` writes
docs/security.md anew.
"""

from tests.attack import (
    acks,
    alerts,
    app_limits,
    callbacks,
    clients,
    consumers,
    egress,
    foreign_ids,
    framing,
    hosts,
    keys,
    named_apps,
    named_targets,
    operators,
    pages,
    queues,
    scopes,
    secrets_at_rest,
    servers,
    shared_room,
    signatures,
    templates,
    ways_out,
)
from tests.attack.attack import Section

SECTIONS: tuple[Section, ...] = (
    foreign_ids.SECTION,
    named_apps.SECTION,
    keys.SECTION,
    scopes.SECTION,
    operators.SECTION,
    egress.SECTION,
    ways_out.SECTION,
    named_targets.SECTION,
    queues.SECTION,
    signatures.SECTION,
    acks.SECTION,
    alerts.SECTION,
    consumers.SECTION,
    templates.SECTION,
    callbacks.SECTION,
    hosts.SECTION,
    framing.SECTION,
    pages.SECTION,
    clients.SECTION,
    app_limits.SECTION,
    shared_room.SECTION,
    servers.SECTION,
    # It looks at what all others left, and stops what answers them.
    secrets_at_rest.SECTION,
)
