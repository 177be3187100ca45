"""A bare interpreter, which both sides pay for and neither is measured by."""
