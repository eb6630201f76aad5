"""What every place for an archive must do: all conformance tests over a `Storage`, mostly seen through `Archive`."""

from archive_damage_suite import DamageSuite
from archive_removal_suite import RemovalSuite
from archive_storing_suite import StoringSuite


class ArchiveSuite(StoringSuite, DamageSuite, RemovalSuite):
    """A subclass says where the archive is; `storage` is empty at the beginning of every test."""
