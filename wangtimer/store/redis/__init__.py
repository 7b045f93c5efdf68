"""Redis, the hot store: slices of the horizon, the agenda, definitions, the outbox. It may forget all of it."""
