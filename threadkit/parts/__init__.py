"""What the services are made of and how they are joined, one file for each group; `threadkit/services.py` joins those.

A later group may use earlier ones: base, accounts, reading, judging, writing, moderating, live, care.
"""
