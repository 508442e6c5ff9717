"""Objects in parts on MinIO as stages: cmd/erasure-multipart.go and cmd/object-multipart-handlers.go at 7aac2a2c.

As the log of the drives shows: the upload has an xl.meta of its own on all drives of the object's set, which each part
and the completion read again. A part is written like an object, and a small file with its metadata after it. The
completion reads these files on all drives, and writes the object's xl.meta. A GET reads the files of the parts one
after the other (getObjectWithFileInfo in cmd/erasure-object.go).
"""

from __future__ import annotations

from models.minio.requests.accesses import small
from models.minio.requests.routes import Builder
from models.minio.spec.release import looks_up
from models.shared.multipart import further, without_body
from models.shared.steps import Stages, changed, fan_out, joined


class Upload(Builder):
    """Builds the stages of a multipart upload, whose kind is that of a PUT of one part.

    Each request of the upload takes the CPU time of a PUT, the initiation and the completion that without bytes
    (assumed).
    """

    def stages(self) -> Stages:
        """Return the stages of the upload: initiation, parts, completion."""
        assert self.client.multipart is not None
        slots = self.places.head_place(self.kind.pool, "slots")
        part, completed = further(self._part_uploaded(), slots), further(self._completed(), slots)
        return self._initiated() + self.client.multipart.upload(self.kind.parts, part) + completed

    def _initiated(self) -> Stages:
        """The xl.meta of the upload is written on all drives."""
        written = self._elsewhere() + self._hung_call() + self._metadata_writes()
        return without_body(self._request()) + written + without_body(self._finish())

    def _part_uploaded(self) -> Stages:
        """A part is uploaded; its handler reads the metadata of the upload, and PutObjectPart reads them again."""
        of_upload = self._lock() + self._hung_call() + self._upload_read() + self._unlock()
        looked = self._look_up() if looks_up(self.spec.release) else ()
        body = self._body(of_upload + looked + self._upload_read())
        locks = self._lock() * 2  # of the part, and of the upload
        renamed = locks + self._hung_call() + self._calls(self.call.without_bytes) + self._metadata_writes()
        return self._request() + body + renamed + self._finish()

    def _completed(self) -> Stages:
        """All parts are looked up, and the object's metadata written.

        The lock of the upload may be refused at first, because the release of the last part's lock is in progress.
        """
        locked = self._race() + self._lock() + self._hung_call() + self._upload_read() + self._parts_read()
        removed = self._calls(self.call.without_bytes)
        committed = self._lock() + removed + self._rename() + self._clean_up() + self._heal()
        return without_body(self._request()) + locked + committed + without_body(self._finish())

    def _upload_read(self) -> Stages:
        """The metadata of the upload are read on all drives; page caches have them."""
        return self._find(always=True, again=True)

    def _parts_read(self) -> Stages:
        """The metadata of all parts are read on all drives, by one call to each."""
        demand = small(self.read)
        if self.pool.hosts.page_cache.present or not demand.takes_time:
            return self._calls(self.call.without_bytes)
        assert self.client.multipart is not None
        read = self._accesses(demand, small(self.drives.read_latency))
        of_parts = self.client.multipart.demands(self.kind.parts)
        return fan_out(
            self._at(p, joined(changed(read(p), of_part) for of_part in of_parts)) for p in range(self.layout.size)
        )


class Download(Builder):
    """Builds the stages of a GET of an object in parts, whose kind is that of one part."""

    def fetched(self) -> Stages:
        """Return the stages of all parts: each begins when all bytes of the one before are sent."""
        assert self.client.multipart is not None
        return self.client.multipart.download(self.kind.parts, super().fetched())
