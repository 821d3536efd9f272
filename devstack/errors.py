"""What can go wrong with the embedded stack. Every message says what to do next.

DevstackError
├── MissingPieceError    Java, Postgres' binaries, the checkout's `debezium/` folder
├── StateError           the state folder can't be used: not writable, full, unreadable
├── StackBusyError       another command is working on the same state folder
├── StackNotRunningError what is asked for needs a started stack
├── StartError           a service died, or did not answer in time; carries the end of its log
├── RemovalError         something of a temporary stack is still there
└── JarError
    ├── JarLockError     `jars.lock.toml` can't be read
    ├── FetchError       a jar could not be fetched
    └── ChecksumError    a jar is not the one that was locked
"""

__all__ = [
    "ChecksumError",
    "DevstackError",
    "FetchError",
    "JarError",
    "JarLockError",
    "MissingPieceError",
    "RemovalError",
    "StackBusyError",
    "StackNotRunningError",
    "StartError",
    "StateError",
]


class DevstackError(Exception):
    """Anything that keeps the embedded stack from doing what was asked."""


class MissingPieceError(DevstackError):
    """A program or a file that the stack runs on is not there."""


class StateError(DevstackError):
    """The state folder can't be used."""


class StackBusyError(DevstackError):
    """Another command is starting or stopping the same stack right now."""


class StackNotRunningError(DevstackError):
    """The stack has to be started first."""


class StartError(DevstackError):
    """A service died while starting, or did not answer before its deadline."""


class RemovalError(DevstackError):
    """A temporary stack could not be removed, or not all of it."""


class JarError(DevstackError):
    """The jars of Kafka and Debezium are not all there."""


class JarLockError(JarError):
    """The list of locked jars can't be read."""


class FetchError(JarError):
    """A jar could not be fetched."""


class ChecksumError(JarError):
    """A jar's bytes are not those that were locked."""
