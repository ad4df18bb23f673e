"""Faster ways to run a batch. The models next door are the definition: contract tests compare."""
