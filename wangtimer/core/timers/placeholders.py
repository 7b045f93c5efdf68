"""The placeholders that a call may have, and what each stands for."""

# The placeholder that only calls of numbered timers fill in.
SEQ = "seq"
# What each placeholder stands for; the documentation shows this.
PLACEHOLDERS = {
    "fireAt": "the scheduled moment in UTC (RFC 3339)",
    "fireAtMs": "the same, in ms since 1970",
    "scheduledLocal": "the same in the timer's time zone, with its offset (RFC 3339); of a single moment in UTC",
    "timezone": "the timer's time zone; of a single moment UTC",
    "firingId": "the firing's id, as in `webhook-id`",
    "timerId": "the timer's id",
    "attempt": "the number of the attempt, from 1",
    SEQ: "the firing's number, of a timer with `numbered`; nothing where it has none",
    "app": "the app's name",
}
