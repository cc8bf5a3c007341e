"""The search: tickets, islands, selection, migration and credit. It directs; it evaluates and writes nothing itself."""
