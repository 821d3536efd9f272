"""The processor: what happens to an event between its topic and its last outcome."""
