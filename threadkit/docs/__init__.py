"""The API's own page: `/openapi.json` for programs, `/docs` for people. Nothing is loaded from elsewhere."""
