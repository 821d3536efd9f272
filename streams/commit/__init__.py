"""The commit rule: no offset is committed past an unsettled delivery (INV-2), on top of Faust's consumer.

`ledger` decides, `metadata` writes down what is settled beyond the commit, `consumer` is the thin shell around Faust.
"""
