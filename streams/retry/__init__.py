"""When and where a failed delivery is tried again: tiers and lanes, backoff, and the policy that decides."""
