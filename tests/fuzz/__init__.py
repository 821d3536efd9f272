"""What comes in from outside, garbled: each border is read or refused with its own error, and nothing else happens.

Mostly valid inputs that were mutated (`mutation.py`), since those get deep into a parser; bytes and texts of any sort
beside them. Every property asks for no exception but the named one, and for the strongest thing that holds then:
a round trip, a bound, another program's judgement, or an error that is short and shows nothing secret.

| border | here | in `tests/unit` beside it |
|---|---|---|
| records on `outbox.events`, `outbox.redelivery`, the tiers | `test_records` | `test_wire`: round trips |
| commit metadata | `test_commit_metadata` | `test_ledger`, `test_commit_model`: what is done with it |
| parked records, as the scheduler reads them | `test_parked_records` | `test_move`: laps, garbled headers |
| attempt records, as the recorder reads them | `test_attempt_records` | `recorder/test_entry`: round trips |
| dead letters, as the recorder reads them | `test_dead_letters` | `recorder/test_letter`: round trips |
| `Retry-After` and `Location` | `test_response_headers` | `webhook/test_retry_after`, `webhook/test_verdict` |
| responses, bodies, connections | `test_responses`, `test_excerpts`, `test_connections` | `webhook/test_response` |
| URLs and addresses | `test_urls`, `test_addresses` | `webhook/test_url`, `webhook/test_address` |
| secrets, signatures, requests | `test_signatures` | `webhook/test_signature`, `webhook/test_wire` |
| a receiver's headers, in the demo and the documentation | `test_receivers` | `test_demo_signature` |
| records on `outbox.endpoints` | `test_endpoint_records` | `webhook/test_endpoint` |
| what an application appends, filters | `test_appended_rows` | `outbox/test_row`, `outbox/test_payload` |
| settings, their file, durations | `test_settings` | `settings/test_load_settings`, `test_duration` |
| requests to the API, and what is no HTTP | `test_api_requests` | `api/test_requests`, `api/test_access` |
| questions to the delivery log | `test_log_questions` | `api/test_delivery_queries` |
| sealed texts and key rings | `test_sealed_texts` | `webhook/test_key_ring`, `webhook/test_rotation` |
| arguments of the command line | `test_arguments` | |
"""
