"""Row in, POST out: the whole way of the data, on the real stack, with the processes that a deployment runs."""
