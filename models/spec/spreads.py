"""Ranges that presets of several stores have: of CPU times measured on other processors, and of drives of one class."""

from __future__ import annotations

from models.capabilities import Spread

PROCESSORS = (
    "PassMark's single-thread scores of server processors of 2012 to 2022 (January 2026), and clocks under load"
)

CPU_TIMES = Spread(0.7, 1.8, PROCESSORS)
DRIVE_TIMES = Spread(0.5, 1.8, "data sheets of drives of one class, at different fills")
DURABLE_WRITES = Spread(0.3, 3, "durable writes of drives of one class, with and without power-loss protection")
