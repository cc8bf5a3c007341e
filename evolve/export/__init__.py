"""Programs on their way out: files that run without this package."""
