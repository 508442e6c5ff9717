"""An S3 server for tests with a latency that is known: run as a process of its own, prints its port (`--port`).

Every object request waits `--latency` seconds. A GET of `--stall-key` begins a stall: what arrives in the next
`--stall` seconds waits for its end first. A GET of `--die-key` ends the process. Requests signed by another key than
`--access-key` are refused. Creating one's own bucket again answers 200, as S3 does in us-east-1.

The first GET of a key that begins with ``slow`` takes `--slow` seconds longer, the first of one that begins with
``flaky`` answers 503. ``GET /_requests`` tells how many requests there were, ``GET /_put`` the headers of the last PUT
of an object, ``GET /_parts`` the sizes of the parts of the last multipart upload, ``GET /_read`` the keys of all GETs,
``GET /_left`` the methods and keys of requests whose client had closed the connection before the answer was there.

A GET of a key that begins with ``wrong-GET-`` gets the wrong answer with the name that follows (`wrong_answers.py`);
other methods and the prefixes of LIST likewise, such as ``wrong-LIST-status-500``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.wrong_answers import DATE, WRONG, Exchange, Way

Reply = tuple[str, dict[str, str], bytes]


class Stub:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.buckets: dict[str, dict[str, bytes]] = {}
        self.requests = 0
        self.stall_ends_s = 0.0
        self.requested: set[str] = set()
        self.put: dict[str, str] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.parts: list[int] = []
        self.left: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                first, *lines = head.split("\r\n")
                method, url, _ = first.split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                if headers.get("expect", "").lower() == "100-continue":
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                status, response, content = await self.response(method, url, headers, body)
                if way := wrong_answer(method, url):
                    await way(Exchange(writer, method, url, content))
                    continue
                if reader.at_eof():
                    self.left.append(f"{method} {urlsplit(url).path.rpartition('/')[2]}")
                fields = {"Content-Length": str(len(content)), "Server": "stub"} | response
                text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(f"HTTP/1.1 {status}\r\n{text}\r\n".encode() + (b"" if method == "HEAD" else content))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def response(self, method: str, url: str, headers: dict[str, str], body: bytes) -> Reply:
        parts = urlsplit(url)
        query = parse_qs(parts.query, keep_blank_values=True)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        told = {"_requests": self.requests, "_put": self.put, "_parts": self.parts, "_left": self.left}
        told["_read"] = sorted(self.requested)
        if bucket in told:
            return "200 OK", {}, json.dumps(told[bucket]).encode()
        self.requests += 1
        access_key = self.options.access_key
        if f"Credential={access_key}/" not in headers.get("authorization", ""):
            said = re.search(r"Credential=([^/]+)/", headers.get("authorization", "Credential=none/"))
            return error(
                "403 Forbidden", "InvalidAccessKeyId", f"The Access Key Id {said[1] if said else ''} is unknown."
            )
        first = method == "GET" and key not in self.requested
        if method == "GET":
            self.requested.add(key)
        if key or (bucket and method == "GET"):
            await self.delay(method, key, first)
        if first and key.startswith("flaky"):
            return error("503 Service Unavailable", "SlowDown", "Please reduce your request rate.")
        if key and ("uploads" in query or "uploadId" in query):
            return self.upload(method, bucket, key, query, body)
        if key:
            self.put = headers if method == "PUT" else self.put
            return self.object(method, bucket, key, headers, body)
        return self.bucket(method, bucket, query, body)

    async def delay(self, method: str, key: str, first: bool) -> None:
        now_s = asyncio.get_running_loop().time()
        if method == "GET" and key == self.options.die_key:
            os._exit(1)
        if method == "GET" and key == self.options.stall_key and not self.stall_ends_s:
            self.stall_ends_s = now_s + self.options.stall
        wait_s = max(0.0, self.stall_ends_s - now_s) + self.options.latency
        if first and key.startswith("slow"):
            wait_s += self.options.slow
        if wait_s:
            await asyncio.sleep(wait_s)

    def object(self, method: str, bucket: str, key: str, headers: dict[str, str], body: bytes) -> Reply:
        objects = self.buckets.get(bucket)
        if objects is None:
            return error("404 Not Found", "NoSuchBucket", "The specified bucket does not exist")
        if method == "PUT":
            objects[key] = body
            return "200 OK", {"ETag": '"0"'}, b""
        if method == "DELETE":
            objects.pop(key, None)
            return "204 No Content", {}, b""
        if key not in objects:
            return error("404 Not Found", "NoSuchKey", "The specified key does not exist.")
        content, facts = objects[key], {"ETag": '"0"', "Last-Modified": DATE}
        if "range" in headers:
            start, last = (int(n) for n in headers["range"].removeprefix("bytes=").split("-"))
            facts["Content-Range"] = f"bytes {start}-{min(last, len(content) - 1)}/{len(content)}"
            return "206 Partial Content", facts, content[start : last + 1]
        return "200 OK", facts | {"Content-Length": str(len(content))}, content

    def upload(self, method: str, bucket: str, key: str, query: dict[str, list[str]], body: bytes) -> Reply:
        """The calls of a multipart upload; it becomes an object when it is completed."""
        if "uploads" in query:
            name = f"upload-{len(self.uploads)}"
            self.uploads[name] = {}
            content = f"<Bucket>{bucket}</Bucket><Key>{key}</Key><UploadId>{name}</UploadId>"
            content = f"<InitiateMultipartUploadResult>{content}</InitiateMultipartUploadResult>"
            return "200 OK", {}, content.encode()
        parts = self.uploads[query["uploadId"][0]]
        if method == "PUT":
            parts[int(query["partNumber"][0])] = body
            return "200 OK", {"ETag": '"0"'}, b""
        if method == "POST":
            pieces = [parts[number] for number in sorted(parts)]
            self.parts = [len(piece) for piece in pieces]
            self.buckets[bucket][key] = b"".join(pieces)
            content = f'<Bucket>{bucket}</Bucket><Key>{key}</Key><ETag>"0"</ETag>'
            content = f"<CompleteMultipartUploadResult>{content}</CompleteMultipartUploadResult>"
            return "200 OK", {}, content.encode()
        return "204 No Content", {}, b""

    def bucket(self, method: str, bucket: str, query: dict[str, list[str]], body: bytes) -> Reply:
        if not bucket:
            names = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in sorted(self.buckets))
            return "200 OK", {}, f"<ListAllMyBucketsResult><Buckets>{names}</Buckets></ListAllMyBucketsResult>".encode()
        if method == "PUT":
            self.buckets.setdefault(bucket, {})
            return "200 OK", {}, b""
        if bucket not in self.buckets:
            return error("404 Not Found", "NoSuchBucket", "The specified bucket does not exist")
        objects = self.buckets[bucket]
        if method == "POST":
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                objects.pop(key, None)
            return "200 OK", {}, b"<DeleteResult/>"
        if method == "DELETE":
            if objects:
                return error("409 Conflict", "BucketNotEmpty", "The bucket you tried to delete is not empty")
            del self.buckets[bucket]
            return "204 No Content", {}, b""
        found = [key for key in sorted(objects) if key.startswith(query.get("prefix", [""])[0])]
        rows = "".join(f"<Contents><Key>{key}</Key><Size>{len(objects[key])}</Size></Contents>" for key in found)
        count = f"<IsTruncated>false</IsTruncated><KeyCount>{len(found)}</KeyCount>"
        return "200 OK", {}, f"<ListBucketResult>{count}{rows}</ListBucketResult>".encode()


def wrong_answer(method: str, url: str) -> Way | None:
    """Return how a request is answered wrongly; None: rightly."""
    parts = urlsplit(url)
    key, prefix = unquote(parts.path).lstrip("/").partition("/")[2], parse_qs(parts.query).get("prefix", [""])[0]
    named, method = (prefix, "LIST") if prefix else (key, method)
    return WRONG[named.removeprefix(f"wrong-{method}-")] if named.startswith(f"wrong-{method}-") else None


def error(status: str, code: str, message: str) -> Reply:
    return status, {}, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--stall", type=float, default=0.0)
    parser.add_argument("--stall-key")
    parser.add_argument("--die-key")
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--access-key", default="")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    options = parser.parse_args()
    server = await asyncio.start_server(Stub(options).serve, options.host, options.port, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
