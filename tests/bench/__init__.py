"""The figures of the design, each beside its floor in the same run: `make bench`.

`client` is the load generator, in a process of its own, and `crowd` the same for live pages; `floors` are the bare
servers that ours is compared with (`socket_floors` those for live pages); `stage` sets both up; `rows/` has one file
per kind of work, and each says what it measures and what the goal is.
"""
