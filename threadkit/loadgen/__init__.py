"""Made-up threads in realistic shapes: for trying things out, for measuring, and for nothing else.

`shapes` and `texts` decide what is written and do no I/O; `service` writes it with the scripts that write everything
else, so that all indexes agree; `gathered` sends many of their calls in one go.
"""
