"""Doctor: what in a real environment will bite later, each finding with why and what to do.

finding.py    what a check says
facts.py      a look at Postgres, Kafka, Kafka Connect and the clocks (changes nothing)
postgres.py, connect.py, kafka.py, endpoints.py, sealing.py, clock.py    the checks: pure functions of the facts
examine.py    all of it together
"""

from streams.doctor.examine import examine
from streams.doctor.finding import Finding, Severity

__all__ = ["Finding", "Severity", "examine"]
