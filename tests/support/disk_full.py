"""A full disk for the stack's Kafka, without root and without filling anything.

`fill` lowers the size that a file of the running broker may have (RLIMIT_FSIZE). A write beyond it fails with EFBIG,
where a full disk says ENOSPC; to Kafka both are an IOException of its log. (The JVM ignores SIGXFSZ.) The limit goes
with the process: a broker that is started again has none, as on a disk where room was made.

What Kafka 4.3.1 does, tried on the embedded stack:

- The first append that fails takes the log folder offline ("Error while appending records to t-2"). It is the only
  one, so the broker says "Shutdown broker because all log dirs ... have failed" and halts 20 ms later: exit code 1, no
  clean shutdown. No client gets an error of the disk; its connection ends. An idle broker dies too, within a second:
  it always appends to its metadata.
- At a limit within a segment a batch is torn: its first bytes are in the file. It was never acknowledged, and the next
  start cuts it off ("Corruption found in segment 0, truncating to offset 188", with 188 acknowledged).
- Started again it answers after 6 to 8 s. A producer that waited meanwhile goes on: of 866 records under load none
  that was acknowledged was missing, and none was there twice.
- It does not halt when what fails is the making of a new topic's log ("metadata publishing fault"): the broker then
  lives on without that partition. So fill it when no topic is being made, or with 1, which its own metadata doesn't
  survive.
"""

from __future__ import annotations

import resource

__all__ = ["fill"]


def fill(pid: int, *, at_bytes: int = 1) -> None:
    """From now on the process can't write beyond this size of any file.

    With 1, every write fails, that to its own printed log too: its last words are lost. A size above that log's keeps
    them, and tears a batch; the broker then lives until one of its segments has grown to it.
    """
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (at_bytes, hard))
