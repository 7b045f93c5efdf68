"""Operations for operators: health and metrics."""
