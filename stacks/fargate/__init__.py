"""Workers that poll: containers on Fargate, for runs of hours."""
