"""What a process tells Prometheus: one registry for each process, served over HTTP where an address is set."""
