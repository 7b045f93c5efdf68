"""Guesses the IANA zone that somebody meant whose text names none."""

import re
from functools import lru_cache

from tzlocal.windows_tz import win_tz

from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.near_misses import Names
from wangtimer.core.time.zones import zone_names

SHOWN_CHARACTERS = 64

# In a shorter name one letter makes another zone: CST is no slip for EST.
LEAST_LETTERS = 5
_OFFSET = re.compile(
    r"(?:UTC|GMT)?(?P<sign>[+-])0?(?P<hours>[1-9]|1[0-4])(?::?00)?", re.IGNORECASE | re.ASCII
)

# Places that people name and tzdata does not.
_ELSEWHERE = {
    "Asia/Shanghai": "Beijing Peking Shenzhen Guangzhou Hangzhou Chengdu Wuhan Nanjing Tianjin China 北京 上海",
    "Asia/Kolkata": "Delhi Mumbai Bangalore Bengaluru Chennai Hyderabad India",
    "Asia/Tokyo": "Osaka Kyoto Japan",
    "Asia/Seoul": "Korea Busan",
    "Asia/Ho_Chi_Minh": "Hanoi Vietnam",
    "America/New_York": "Boston Washington Atlanta Miami Philadelphia Eastern",
    "America/Chicago": "Dallas Houston Austin Central",
    "America/Los_Angeles": "San_Francisco Seattle San_Diego California Pacific_Time",
    "America/Toronto": "Ottawa",
    "Europe/Berlin": "Munich Hamburg Frankfurt Germany",
    "Europe/Paris": "Lyon France",
    "Europe/London": "England Edinburgh Manchester",
    "Europe/Zurich": "Geneva Bern Switzerland",
    "Europe/Madrid": "Barcelona Spain",
    "Europe/Rome": "Milan Italy",
    "Asia/Jerusalem": "Tel_Aviv",
    "Australia/Sydney": "Canberra",
}

# Abbreviations that stand for several zones, with some of these.
_SEVERAL = {
    "CST": ("Asia/Shanghai", "America/Chicago"),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "AST": ("America/Halifax", "Asia/Riyadh"),
    "PST": ("America/Los_Angeles", "Asia/Manila"),
}


def unknown_zone(written: str) -> InvalidSchedule:
    """Return the error for an unknown zone; it asks about the one that was meant."""
    shown = written if len(written) <= SHOWN_CHARACTERS else written[:SHOWN_CHARACTERS] + "..."
    meant = meant_zone(written)
    if zones := _SEVERAL.get(written.strip().upper()):
        mend = f"it stands for several zones: write the one you mean, such as {' or '.join(zones)}"
        return InvalidSchedule("schedule.timezone", f"{shown!r} is not an IANA time zone", mend)
    question = "" if meant is None else f"did you mean {meant}? "
    mend = f"{question}write a name such as UTC, Asia/Shanghai or Europe/London"
    return InvalidSchedule("schedule.timezone", f"{shown!r} is not an IANA time zone", mend, meant)


def meant_zone(written: str) -> str | None:
    """Return the zone meant by another case, a slip, a city or Windows' name; None: it may be several, as CST."""
    city = written.rpartition("/")[2]
    zones, cities = _zones(), _cities()
    same = (
        zones.same_as(written)
        or _by_city(cities.same_as(city))
        or zone_of_offset(written)
        or _windows_names().get(written.casefold())
    )
    if same or len(city) < LEAST_LETTERS or not city.replace("_", "").replace(" ", "").isalpha():
        return same
    return zones.meant_by(written) or _by_city(cities.meant_by(city))


def zone_of_offset(written: str) -> str | None:
    """Return the zone of an offset in whole hours. UTC+8 is Etc/GMT-8: the sign says what to add to get UTC."""
    found = _OFFSET.fullmatch(written.strip())
    if found is None:
        return None
    zone = f"Etc/GMT{'-' if found['sign'] == '+' else '+'}{int(found['hours'])}"
    return zone if zone in zone_names() else None


def _by_city(city: str | None) -> str | None:
    return None if city is None else _zone_of_city()[city]


@lru_cache(maxsize=1)
def _windows_names() -> dict[str, str]:
    """Return the zone of each name of Windows, as in China Standard Time."""
    return {name.casefold(): zone for name, zone in win_tz.items()}


@lru_cache(maxsize=1)
def _zones() -> Names:
    return Names(sorted(zone_names()))


@lru_cache(maxsize=1)
def _cities() -> Names:
    return Names(_zone_of_city())


@lru_cache(maxsize=1)
def _zone_of_city() -> dict[str, str]:
    """Return the zone of each city; of several zones with the city, the one with the shortest name."""
    found = {name: zone for zone, names in _ELSEWHERE.items() for name in names.split()}
    for zone in sorted(zone_names(), key=lambda zone: (len(zone), zone)):
        region, _, city = zone.rpartition("/")
        if region and region != "Etc":
            found.setdefault(city, zone)
    return found
