"""Takes the ticks of the fleet's schedules, as EventBridge Scheduler sends them."""
