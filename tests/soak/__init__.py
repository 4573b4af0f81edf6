"""A long time of ordinary days: `make soak`. What grows although nothing is added is a leak."""
