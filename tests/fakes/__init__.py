"""In-memory ports that keep the real ones' promises; the port tests hold both."""
