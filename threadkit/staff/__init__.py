"""Those who run sites: how they sign in to the pages of this server, and how they show again who they are."""
