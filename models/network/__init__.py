"""The Network and the Sheet: the language between the store models and the engines."""
