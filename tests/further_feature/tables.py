"""The table of what targets said, and the column of the minute of rest, as `schema.sql` would have them."""

OF_TIMER = ("rest_minute SMALLINT",)
SCHEMA = """
CREATE TABLE said (
    timer_id BIGINT NOT NULL,
    fire_at BIGINT NOT NULL,
    app VARCHAR(64) NOT NULL,
    words VARCHAR(100) NOT NULL,
    PRIMARY KEY (timer_id, fire_at)
) ENGINE = InnoDB;
"""
