"""Redis, the hot store: slices of the window, the agenda, lanes, definitions, the outbox. It may forget all of it."""
