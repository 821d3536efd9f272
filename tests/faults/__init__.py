"""What breaks, and what must hold nevertheless: processes and services are killed, stopped and frozen."""
