"""Some mechanisms in transformers and their emergence: a talk, and the papers it rests on.

`setting` has the source and what claims share, `memories` associative memories, `facts` factual
recall, `induction` induction heads, `noise` what noise does to them, `hops` k hops in context.
"""

from . import memories, facts, induction, noise, hops  # noqa: F401, I001 in the order of the talk
