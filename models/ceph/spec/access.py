"""Access paths to a Ceph cluster: S3 through gateways, or natively RADOS, RBD volumes and databases on volumes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from traces.operations import Op
from traces.spec.field_notes import Basis
from traces.spec.spec_file import BareKind
from traces.spec.units import Bytes, Fraction
from traces.workload.distributions import Strict

_ROW_BYTES = 210
"""A row of sysbench's tables: two 4-byte integers, char(120), char(60), and InnoDB's header (about 20)."""
_SYSBENCH = Basis("default of sysbench's oltp_read_write (src/lua/oltp_common.lua)")
_PAGE_FILL = 15 / 16
"""Fill factor of an InnoDB page whose rows were inserted in key order."""


class S3(Strict):
    """S3 objects through the gateways, with a bucket index."""

    via_gateways: ClassVar[bool] = True
    overwrites: ClassVar[bool] = False
    cuts: ClassVar[bool] = True
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT", "HEAD", "DELETE", "LIST", "COPY")

    kind: Literal["s3"] = Field("s3", description="S3 through the gateways, with a bucket index.")


class Rados(Strict):
    """Native access to RADOS objects, as in `rados bench`, without striping; a HEAD is a stat."""

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT", "HEAD", "DELETE")

    kind: Literal["rados"] = Field(
        "rados", description="Native access to RADOS objects, as in `rados bench`, without gateways."
    )


class Rbd(Strict):
    """Blocks of RBD volumes, as in fio: a bucket is a volume, and a key is a block of it that is already written.

    The workload's object size is the block size: a PUT overwrites a block, a GET reads one. RADOS objects have 4 MiB
    (rbd_default_order 22) and are counted by `stored.objects`; larger blocks span several of them.
    """

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = True
    cuts: ClassVar[bool] = True
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT")

    kind: Literal["rbd"] = Field(
        "rbd", description="Blocks of RBD volumes, as in fio; the workload's object size is the block size."
    )
    sequential: bool = Field(
        False,
        description="Whether the clients of a volume write consecutive blocks, which librbd merges into larger writes.",
    )

    def merged_writes(self, block_bytes: float, clients_per_volume: float) -> float:
        """Return the mean number of writes of blocks that librbd merges into one.

        Of the clients of a volume half have their writes on the way, as one, and half wait for it to merge (`simple`
        of rbd_io_scheduler: one write of an object at a time, src/librbd/io/SimpleSchedulerObjectDispatch.cc; the half
        is assumed). A merged write does not exceed an object.
        """
        if not self.sequential:
            return 1.0
        return max(1.0, min(clients_per_volume / 2, RGW_OBJECT_BYTES / block_bytes))


class Mysql(Strict):
    """Transactions of MySQL servers (InnoDB) on RBD volumes, as in sysbench's oltp_read_write.

    A bucket is a server, a PUT a transaction, the workload's object size the database's page size, and `client.cpu.PUT`
    the server's time for a transaction. Statement counts are sysbench's defaults (src/lua/oltp_common.lua).
    """

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = True
    cuts: ClassVar[bool] = False
    ops: ClassVar[tuple[Op, ...]] = ("PUT",)

    kind: Literal["mysql"] = Field(
        "mysql", description="Transactions of MySQL servers on RBD volumes, as in sysbench's oltp_read_write."
    )
    point_selects: Annotated[int, _SYSBENCH] = Field(
        10, ge=0, le=1000, description="Number of selects of one row in a transaction."
    )
    range_selects: Annotated[int, _SYSBENCH] = Field(
        4, ge=0, le=1000, description="Number of range selects (simple, sum, order, distinct) in a transaction."
    )
    range_size: Annotated[int, _SYSBENCH] = Field(
        100, ge=1, le=100_000, description="Number of rows that a range select returns."
    )
    index_updates: Annotated[int, _SYSBENCH] = Field(
        1, ge=0, le=1000, description="Number of updates in a transaction of the column with a secondary index."
    )
    non_index_updates: Annotated[int, _SYSBENCH] = Field(
        1, ge=0, le=1000, description="Number of updates in a transaction of a column without an index."
    )
    delete_inserts: Annotated[int, _SYSBENCH] = Field(
        1, ge=0, le=1000, description="Number of rows that a transaction deletes and inserts again."
    )
    buffer_pool_hits: Annotated[Fraction, Basis("assumed", 0.5, 1)] = Field(
        0.9, ge=0, le=1, description="Fraction of page accesses that the buffer pool serves without a read."
    )
    coalesced_fraction: Annotated[Fraction, Basis("assumed: every second change")] = Field(
        0.5,
        ge=0,
        le=1,
        description="Fraction of page changes that are followed by another one before the page is written back.",
    )
    double_write: bool = Field(True, description="Whether pages are written twice (innodb_doublewrite).")
    log_writes: Annotated[int, Basis("one to the redo log and one to the binary log")] = Field(
        2, ge=0, le=100, description="Number of synchronous log writes of a transaction, one after the other."
    )
    log_write: Annotated[Bytes, Basis("assumed: a block of the file system", 512, 1 << 20)] = Field(
        4096, gt=0, description="Size of each synchronous log write."
    )
    log_writers: int | None = Field(
        None,
        ge=1,
        description="Number of transactions of a server that write their logs at the same time: 1 without group "
        "commit; absent: no limit.",
    )

    def reads(self, page_bytes: float) -> float:
        """Return the mean number of pages that a transaction reads from its volume.

        A row is on one leaf page, a range on as many as its rows fill; pages above leaves are assumed to be in memory,
        and changes of secondary indexes to be buffered (innodb_change_buffering).
        """
        rows = max(1.0, page_bytes * _PAGE_FILL / _ROW_BYTES)
        pages = self.range_selects * (1 + (self.range_size - 1) / rows)
        pages += self.point_selects + self.index_updates + self.non_index_updates + self.delete_inserts
        return pages * (1 - self.buffer_pool_hits)

    @property
    def write_backs(self) -> float:
        """Mean number of page writes caused by a transaction.

        A change of the indexed column changes the row, and the secondary index at both the old and the new value.
        """
        changed = 3 * self.index_updates + self.non_index_updates + 3 * self.delete_inserts
        return changed * (1 - self.coalesced_fraction) * (2 if self.double_write else 1)


AccessPath = Annotated[S3 | Rados | Rbd | Mysql, Field(discriminator="kind"), BareKind()]
"""How clients access their data; a bare name such as ``rados`` means ``{kind: rados}``."""
