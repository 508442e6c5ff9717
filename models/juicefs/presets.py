"""Presets of metadata engines: times of one command or statement, and of making a transaction durable."""

from __future__ import annotations

from models.devices.presets import Preset, Presets

_SQL_STATEMENT = "assumed: 10,000 to 20,000 statements by primary key a second and core"

_ENGINES = (
    Preset(
        "redis",
        "Redis 7, one thread (assumed: 100,000 to 200,000 commands a second without pipelining); "
        "appendfsync everysec, so that no command waits for a drive",
        {"engine": "redis", "command": {"constant": 6e-6}, "commit": {"constant": 0.0}},
    ),
    Preset(
        "redis-always",
        "the same with appendfsync always on an NVMe drive with power-loss protection (assumed: 50 us)",
        {"engine": "redis", "command": {"constant": 6e-6}, "commit": {"constant": 50e-6}},
    ),
    Preset(
        "sqlite",
        "SQLite in the mount, journal WAL, synchronous FULL (defaults of mattn/go-sqlite3): a sync for each "
        "transaction, on an SSD without power-loss protection (assumed: 1 ms)",
        {"engine": "sqlite", "command": {"constant": 20e-6}, "commit": {"constant": 1e-3}},
    ),
    Preset(
        "postgresql",
        f"PostgreSQL, 8 cores; {_SQL_STATEMENT}; commits of the write-ahead log in groups (assumed: 0.2 ms)",
        {"engine": "sql", "servers": 8, "command": {"constant": 60e-6}, "commit": {"constant": 0.2e-3}},
    ),
    Preset(
        "mysql",
        "MySQL 8, 8 cores; as PostgreSQL, with two syncs for each group of commits, of the redo and the binary log "
        "(innodb_flush_log_at_trx_commit = 1, sync_binlog = 1; assumed: 0.2 ms each)",
        {"engine": "sql", "servers": 8, "command": {"constant": 70e-6}, "commit": {"constant": 0.4e-3}},
    ),
    Preset(
        "tikv",
        "TiKV, 3 nodes of 8 cores; a read of a key (assumed: 50 us); a commit is a write of the Raft log on a majority "
        "(assumed: 0.5 ms with the network between the nodes)",
        {"engine": "tikv", "servers": 24, "command": {"constant": 50e-6}, "commit": {"constant": 0.5e-3}},
    ),
)


def engines() -> Presets:
    """Return the presets of the section `metadata`."""
    return {preset.name: preset for preset in _ENGINES}
