"""Feature resemblance: analogy in transformers (arXiv 2603.05143).

Trained on what two entities share, and on what one of them has besides, a transformer concludes
that the other has it too, because it comes to represent the two alike. Order matters.
"""
