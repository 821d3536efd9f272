"""`make demo`: the whole system at work on its own temporary stack, judged from outside, in under a minute.

Nothing else imports this. Three kinds of files: what is told (`story`, `handlers`, `shop`), what is seen (`receiver`,
`topics`, `handler_calls`, collected in `evidence`), and what is concluded (`expectation`, `numbers`, `verdict`): pure,
so that the tests can show it turning red.
"""
