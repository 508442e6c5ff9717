"""The load balancer before RADOS gateways: HAProxy, configured as cephadm's service ``ingress`` does it.

Source: ceph ``src/pybind/mgr/cephadm/templates/services/ingress/haproxy.cfg.j2``: gateways in turn (static-rr), a
health check every 2 s (HAProxy's defaults: fall 3, rise 2), and ``option redispatch``: as the next gateway does not
depend on the request, HAProxy sends one whose connection is refused to it at once.
"""

from __future__ import annotations

import shutil

from traces.errors import InputError
from validate.lab.box.packages import install_packages
from validate.lab.ceph import configuration
from validate.lab.store import Store

_PROGRAM = "haproxy"

_COMMON = """\
global
    maxconn 8000
defaults
    mode http
    option http-server-close
    option forwardfor except 127.0.0.0/8
    option redispatch
    retries 3
    timeout queue 20s
    timeout connect 5s
    timeout http-request 1s
    timeout http-keep-alive 5s
    timeout client {silence_s}s
    timeout server {silence_s}s
    timeout check 5s
    maxconn 8000
"""
_SILENCE_S = 120
"""Longest silence of a request; cephadm's 30 s would end requests that wait for an OSD."""


def configured(store: Store, host: int) -> str:
    """Return the configuration of the load balancer of a host."""
    where, port = configuration.address(store, host)
    gateways = ((gateway, store.nodes[gateway].address) for gateway in store.form.gateway_hosts)
    servers = (f"    server rgw{number} {at} check weight 100\n" for number, at in gateways)
    frontend = f"frontend frontend\n    bind {where}:{port}\n    default_backend backend\n"
    backend = "backend backend\n    balance static-rr\n    option httpchk HEAD / HTTP/1.0\n" + "".join(servers)
    return _COMMON.format(silence_s=_SILENCE_S) + frontend + backend


def command(store: Store, host: int) -> list[str]:
    """Write the configuration of the load balancer of a host; return the command that starts it.

    Raises:
        InputError: HAProxy cannot be installed.
    """
    install_packages([_PROGRAM], lambda: shutil.which(_PROGRAM) is None, lambda line: None)
    if shutil.which(_PROGRAM) is None:
        raise InputError(f"HAProxy is not installed: apt-get install {_PROGRAM}")
    file = configuration.folder_of(store) / f"haproxy-{host}.cfg"
    file.write_text(configured(store, host))
    return [_PROGRAM, "-db", "-q", "-f", str(file)]
