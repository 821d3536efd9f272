"""`make audit`: the locked packages, held against the advisory databases. Part of `make test`.

Here and not in a script of its own, because CI must see it in both forms: as a line of its output, and as a
test that shows that a finding is red. Run it with `python -m tests.audit`.
"""
