"""tailcast forecasts the tail latency, throughput and capacity of object stores, and proves the forecast on a real one.

Installed, this is the project's one package; its parts are `tailcast.cli`, `tailcast.models`, `tailcast.sim`,
`tailcast.traces` and `tailcast.validate`. In a checkout these are folders next to this one.
"""
