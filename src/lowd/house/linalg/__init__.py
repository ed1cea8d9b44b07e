"""Eigenpairs: of symmetric operators, of centered matrices and of the scatter of rows."""
