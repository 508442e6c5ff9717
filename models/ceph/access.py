"""What the clients of a Ceph cluster speak: S3 to gateways, or RADOS, RBD volumes and databases on those, without."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from traces.spec_file import BareKind
from traces.units import Bytes
from traces.workload.distributions import Strict
from traces.workload.workload import Op

_ROW_BYTES = 210
"""A row of sysbench's tables: two 4-byte integers, char(120), char(60), and InnoDB's header (about 20)."""
_PAGE_FILL = 15 / 16
"""Of an InnoDB page filled in the order of its keys."""


class S3(Strict):
    """Objects through the gateways, with a bucket index."""

    via_gateways: ClassVar[bool] = True
    overwrites: ClassVar[bool] = False
    cuts: ClassVar[bool] = True
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT", "HEAD", "DELETE", "LIST")

    kind: Literal["s3"] = "s3"


class Rados(Strict):
    """RADOS objects, straight from the clients to the OSDs, as `rados bench` has them; none is cut into several.

    A HEAD is a stat.
    """

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT", "HEAD", "DELETE")

    kind: Literal["rados"] = "rados"


class Rbd(Strict):
    """Blocks of RBD volumes, as fio has them: a bucket is a volume, a key a block of it, already written.

    A PUT overwrites a block of the size of the workload's objects, a GET reads what one PUT wrote. RADOS objects have
    4 MiB (rbd_default_order 22), `stored.objects` counts them; a longer block is cut at those.
    """

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = True
    cuts: ClassVar[bool] = True
    ops: ClassVar[tuple[Op, ...]] = ("GET", "PUT")

    kind: Literal["rbd"] = "rbd"


class Mysql(Strict):
    """Transactions of MySQL servers (InnoDB) on RBD volumes, as sysbench's oltp_read_write has them.

    A bucket is a server, a PUT a transaction, the workload's object size the database's page, and `client.cpu.PUT` the
    server's time for a transaction. Statement counts are sysbench's defaults (src/lua/oltp_common.lua).
    """

    via_gateways: ClassVar[bool] = False
    overwrites: ClassVar[bool] = True
    cuts: ClassVar[bool] = False
    ops: ClassVar[tuple[Op, ...]] = ("PUT",)

    kind: Literal["mysql"] = "mysql"
    point_selects: int = Field(10, ge=0, le=1000)
    range_selects: int = Field(4, ge=0, le=1000, description="simple, sum, order and distinct ranges")
    range_size: int = Field(100, ge=1, le=100_000, description="rows of a range")
    index_updates: int = Field(1, ge=0, le=1000, description="updates of the column that has a secondary index")
    non_index_updates: int = Field(1, ge=0, le=1000)
    delete_inserts: int = Field(1, ge=0, le=1000, description="a row deleted, and inserted anew")
    buffer_pool_hits: float = Field(0.9, ge=0, le=1, description="share of page accesses without a read (assumed)")
    coalesced_fraction: float = Field(
        0.5, ge=0, le=1, description="changed pages that change again before they are written (assumed)"
    )
    double_write: bool = Field(True, description="innodb_doublewrite: pages are written twice")
    log_writes: int = Field(
        2, ge=0, le=100, description="waited for one after the other: redo log and binary log, both synced"
    )
    log_write: Bytes = Field(4096, gt=0, description="size of one (assumed: a block of the file system)")
    log_writers: int | None = Field(
        None,
        ge=1,
        description="transactions of a server that write their logs at a time: 1 without group commit; absent: all",
    )

    def reads(self, page_bytes: float) -> float:
        """Pages that a transaction reads from its volume, on average.

        A row is on one leaf page, a range on as many as its rows fill; pages above leaves are taken to be in memory,
        changes of secondary indexes to be buffered (innodb_change_buffering).
        """
        rows = max(1.0, page_bytes * _PAGE_FILL / _ROW_BYTES)
        pages = self.range_selects * (1 + (self.range_size - 1) / rows)
        pages += self.point_selects + self.index_updates + self.non_index_updates + self.delete_inserts
        return pages * (1 - self.buffer_pool_hits)

    @property
    def write_backs(self) -> float:
        """Page writes that follow from a transaction, on average.

        A change of the indexed column is one of the row, and of the secondary index where the old and where the new
        value is.
        """
        changed = 3 * self.index_updates + self.non_index_updates + 3 * self.delete_inserts
        return changed * (1 - self.coalesced_fraction) * (2 if self.double_write else 1)


AccessPath = Annotated[S3 | Rados | Rbd | Mysql, Field(discriminator="kind"), BareKind()]
"""How clients come to their data; a bare name such as ``rados`` stands for ``{kind: rados}``."""
