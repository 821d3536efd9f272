"""What can be done to a run. One file for each part of the system that is hurt; `catalogue` has them all."""
