"""How fast the service is, and how fast it could be at best; started by `./dev bench`."""
