"""Maven repositories, through jgo: resolve what some jars need, and download one. The only module that knows jgo.

Where jars come from is the user's own configuration (jgo's: the central repository unless they name others); no
address is written in this repository.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import jgo.config
import jgo.maven
import requests

from devstack.errors import FetchError
from devstack.jar_lock import JarCoordinate

__all__ = ["JarRepository"]

_TRIES = 3
_TIMEOUT_S = 30


class JarRepository:
    """Downloads into a staging folder that the caller owns. Says nothing of checksums: the caller compares them."""

    def __init__(self, staging: Path) -> None:
        # jgo warns of what we then raise an error for.
        logging.getLogger("jgo").setLevel(logging.ERROR)
        settings = jgo.config.GlobalSettings.load()
        default = jgo.maven.MavenContext().remote_repos
        self._context: Any = jgo.maven.MavenContext(
            repo_cache=staging, remote_repos={**default, **settings.repositories}, timeout=_TIMEOUT_S
        )

    def resolve(self, direct: Sequence[JarCoordinate]) -> tuple[JarCoordinate, ...]:
        """The jars asked for, then all that they need at run time, as Maven would choose them.

        Raises:
            FetchError: something of it can't be found or fetched.
        """
        # The "!" keeps jgo from using each of them as a bill of materials, which mixes their libraries' versions.
        roots = [self._context.create_dependency(f"{coordinate}!") for coordinate in direct]
        try:
            inputs, transitive = self._context.resolver.resolve(roots)
        except (requests.RequestException, RuntimeError, ValueError, OSError) as error:
            raise FetchError(
                f"the jars of jars.toml can't be resolved ({error}): check the versions there"
            ) from error
        return tuple(
            JarCoordinate(group=found.groupId, artifact=found.artifactId, version=found.version)
            for found in [*inputs, *sorted(transitive, key=lambda jar: (jar.groupId, jar.artifactId))]
        )

    def download(self, coordinate: JarCoordinate) -> Path:
        """Fetch one jar, and say where in the staging folder it is.

        Raises:
            FetchError: it could not be fetched after some tries.
        """
        component = self._context.project(coordinate.group, coordinate.artifact).at_version(
            coordinate.version
        )
        artifact = component.artifact()
        cause: Exception | None = None
        for _ in range(_TRIES):
            try:
                return Path(artifact.resolve())
            except (requests.RequestException, RuntimeError, OSError, AssertionError) as error:
                cause = error
                with suppress(OSError):  # half a file would pass for a whole one on the next try
                    Path(artifact.cached_path).unlink(missing_ok=True)
        raise FetchError(
            f"{coordinate} could not be fetched ({type(cause).__name__}): check the network, or the repositories in "
            "jgo's configuration file, and start again. What was fetched so far is kept."
        ) from cause
