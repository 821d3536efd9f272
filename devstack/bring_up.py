"""Start the services side by side and wait until all of them answer; give all of it up as soon as one can't.

Connect needs Kafka to get anywhere; Postgres needs nobody.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from devstack.connect import Connect
from devstack.errors import StartError
from devstack.interrupts import uninterrupted
from devstack.kafka import Kafka
from devstack.port import is_free
from devstack.postgres import Postgres
from devstack.progress import Progress, ProgressListener
from devstack.service import Service

__all__ = ["bring_up", "start_and_wait"]


def bring_up(*, postgres: Postgres, kafka: Kafka, connect: Connect, tell: ProgressListener) -> None:
    """Return when all three answer. Those that run already are only asked.

    Raises:
        DevstackError: one of them can't be started. What this call had started is ended again.
    """
    services: Sequence[Service] = (postgres, kafka, connect)
    new = [service for service in services if service.pid is None]
    given_up = threading.Event()

    def start(service: Service) -> None:
        if not given_up.is_set():
            start_and_wait(service, tell)

    def start_kafka_and_connect() -> None:
        known_to_connect = kafka.port
        start(kafka)
        if kafka.port != known_to_connect:
            connect.terminate()
        start(connect)

    pool = ThreadPoolExecutor(max_workers=2)
    try:
        chains = (pool.submit(start, postgres), pool.submit(start_kafka_and_connect))
        for chain in as_completed(chains):
            chain.result()
    except BaseException:
        with uninterrupted():
            given_up.set()
            for service in new:  # or the other chain would wait for its deadline
                service.kill()
            pool.shutdown()
            for service in reversed(new):
                service.terminate()
        raise
    pool.shutdown()


def start_and_wait(service: Service, tell: ProgressListener) -> None:
    """Return when one service answers. A port that someone else was quicker to take is replaced, once.

    Raises:
        DevstackError: it can't be started.
    """
    tell(Progress(step=service.name, message="starting"))
    service.start()
    try:
        service.wait_ready()
    except StartError:
        if service.pid is not None or all(is_free(port) for port in service.ports):
            raise
        service.start()
        service.wait_ready()
    tell(Progress(step=service.name, message="ready", done=1, total=1))
