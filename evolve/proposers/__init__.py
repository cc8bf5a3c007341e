"""Who writes programs: each proposer turns a request (parents, evidence, skills) into a child program."""
