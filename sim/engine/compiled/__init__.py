"""The compiled engine: the machine of `docs/engine.md` in C, the default."""
