"""Grokking on modular addition: a task, a model, two probes, and claims about them."""
