"""SQL, the truth: every timer and every firing (MySQL 8, MariaDB 10.11, SQLite)."""
