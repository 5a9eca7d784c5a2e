"""The documentation's site: `docs/` and pages made from the code, built by Sphinx."""
