"""What a tuning round runs next."""
