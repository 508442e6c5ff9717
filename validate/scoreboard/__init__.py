"""The scoreboard: every known figure of a real store next to its prediction, and next to simpler forecasts."""
