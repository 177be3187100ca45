"""The door: verifies what senders bring, normalises it and writes it down once."""
