"""The commands: parse, call a use case, render, choose an exit code."""
