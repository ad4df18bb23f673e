"""Chains of thought that follow the actions of a group: how far they generalize in length, and why.

`setting` has the paper and what claims share, `lengths` the chains that are solved, `attention`
what answers attend to, `theorems` the theorems in their own model, `beyond` what decides it (ours).
"""

from . import lengths, attention, theorems, beyond  # noqa: F401, I001 in the order of the paper
