"""Google's calendars: read through their API, by changes since the last look."""
