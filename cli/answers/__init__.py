"""Answers of commands that Python can call, too: what is printed of a result, its page, its table of numbers."""
