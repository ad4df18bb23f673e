"""A task, a probe, and claims about them."""
