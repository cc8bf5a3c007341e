"""Data files of the inventory problem and the script that derives the bundled demand."""
