"""A stub of Garage's program for tests: administration as in `garage.toml`, and the stub of S3 with the imported key.

It starts with ``--config FILE server``. Nodes know those that they have been connected with, which are all that are
laid out; the first one keeps the layout and the keys.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

STATE = Path(sys.argv[sys.argv.index("--config") + 1]).with_name("stub.json") if "--config" in sys.argv else Path()


def state() -> dict[str, object]:
    return json.loads(STATE.read_text()) if STATE.exists() else {"roles": [], "connected": [], "keys": {}, "version": 0}


def main() -> None:
    if "--version" in sys.argv:
        print("garage v2.5.0 [stub]")
        return
    toml = tomllib.loads(Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
    s3_host, _, s3_port = toml["s3_api"]["api_bind_addr"].rpartition(":")
    admin_host, _, admin_port = toml["admin"]["api_bind_addr"].rpartition(":")
    key = Path(toml["metadata_dir"]).parents[1].joinpath("credentials").read_text().split()[3]
    program = Path(__file__).parents[3] / "stub_s3.py"
    s3 = [sys.executable, str(program), "--host", s3_host, "--port", s3_port, "--access-key", key]

    class Admin(BaseHTTPRequestHandler):
        def answer(self) -> None:
            url, held = urlsplit(self.path), state()
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            if self.headers["Authorization"] != f"Bearer {toml['admin']['admin_token']}":
                self.send_error(403)
                return
            call, key_id = url.path.removeprefix("/v2/"), parse_qs(url.query).get("id", [""])[0]
            found: object = {}
            if call == "GetNodeInfo":
                found = {"success": {"x": {"nodeId": f"id-of-{toml['rpc_bind_addr']}"}}, "error": {}}
            elif call == "GetClusterLayout":
                found = held
            elif call == "GetClusterHealth":
                found = {"status": "healthy", "storageNodes": len(held["roles"])}
            elif call == "GetKeyInfo":
                if key_id not in held["keys"]:
                    self.send_error(404)
                    return
                found = {"permissions": {"createBucket": held["keys"][key_id]}}
            elif call == "ConnectClusterNodes":
                held["connected"] = body
            elif call == "UpdateClusterLayout":
                held["staged"] = body["roles"]
            elif call == "ApplyClusterLayout":
                held.update(version=body["version"], roles=held["staged"])
            elif call == "ImportKey":
                held["keys"][body["accessKeyId"]] = False
            elif call == "UpdateKey":
                held["keys"][key_id] = body["allow"]["createBucket"]
            else:
                self.send_error(400)
                return
            if body is not None:
                STATE.write_text(json.dumps(held))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((admin_host, int(admin_port)), Admin) as admin, subprocess.Popen(s3):
        admin.serve_forever()


if __name__ == "__main__":
    main()
