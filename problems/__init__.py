"""The bundled problems, one folder each, written exactly as a third party would write theirs."""
