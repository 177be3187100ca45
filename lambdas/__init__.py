"""Code that runs in AWS. The path of a module is its import name everywhere."""
