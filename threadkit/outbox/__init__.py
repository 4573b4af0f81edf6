"""What happened on a site and has effects elsewhere: written with the deed itself, carried out soon after."""
