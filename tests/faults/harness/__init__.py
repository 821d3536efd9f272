"""The fault harness: load on the real stack, a seeded schedule of faults, and a verdict from outside.

    python -m tests.faults.harness faults [--seed N] [--form short|full] [--only KIND …]
    python -m tests.faults.harness soak --minutes 60
    python -m tests.faults.harness mutants [NAME …]

The way of a run: `plan` (what load and which faults, from the seed) → `site` (the stack, the processes, the receiver) →
`load` and `kinds/` (what is done to it) → `evidence` (what Postgres, Kafka, receiver and handlers say afterwards) →
`judge` (pure: evidence in, verdict out) → `report`.
"""
