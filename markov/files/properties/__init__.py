"""CSL properties: queries, model checking, and answers."""
