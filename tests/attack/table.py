"""All attacks, section by section, in the order in which they are carried out."""

from tests.attack import foreign_ids
from tests.attack.attack import Section

SECTIONS: tuple[Section, ...] = (foreign_ids.SECTION,)
