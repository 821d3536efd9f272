"""Resetting the workers' offsets: planned, looked at, and written while the group has no member.

`plan` decides, `look` counts what a plan means, `offsets` is the shell around Kafka.
"""
