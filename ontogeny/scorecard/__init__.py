"""A report card for an architecture: which kinds of reasoning emerge in it, at what cost."""
