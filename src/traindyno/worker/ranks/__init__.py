"""The processes of a group that trains together: who leads them, what each does, and how their end is told."""
