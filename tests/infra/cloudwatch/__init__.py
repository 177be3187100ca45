"""CloudWatch as its documentation tells it: alarms are judged by metric data alone."""
