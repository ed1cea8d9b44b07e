"""Eigenpairs: of symmetric operators, of centered matrices, of the scatter of rows."""
