"""What a person gets at the end of a run: tables, intervals, pictures."""
