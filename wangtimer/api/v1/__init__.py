"""The native API, `/v1`: resources, verbs of their own, words for every status, problem details."""
