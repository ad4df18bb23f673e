"""Someone else's module runs in a process of its own, which is watched and ended from outside."""
