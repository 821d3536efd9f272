"""Setup: from what is there to what is wanted, in steps that can be shown before they are taken.

topics.py     the topics that the settings ask for
partitions.py  partition counts against the settings, for setup and doctor
endpoints.py  the endpoints that the workers can't know
facts.py      a look at Postgres, Kafka and Kafka Connect (changes nothing)
steps.py      what can be changed, each as a value that says what it does
plan.py       the pure comparison: steps, problems that setup can't solve, warnings
run.py        taking the steps, and waiting until Debezium streams
"""

from streams.setup.plan import Plan
from streams.setup.run import run_setup

__all__ = ["Plan", "run_setup"]
