"""A third protocol, tried by docs/contribute/adding-an-acquirer.md: no file outside is for it."""
