"""One module per revision, each saying how to get there from the one before."""
