"""Strategies that decide what to measure next. They start nothing and read nothing."""
