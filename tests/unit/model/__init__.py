"""Bounded proofs: the real classes against a fake log, under whatever order of events hypothesis can think of."""
