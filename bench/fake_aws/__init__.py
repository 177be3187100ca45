"""AWS as far as the benchmarks need it: answers at once, counts, bills.

Own process, plain HTTP. Conditions are really evaluated, so that a duplicate
is one; write units are reckoned by DynamoDB's documented rules from the items
that really came.
"""
