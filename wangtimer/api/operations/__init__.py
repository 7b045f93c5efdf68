"""Operations for operators and readers: health, metrics, error codes."""
