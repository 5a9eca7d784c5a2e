"""What `./dev` runs: embedded servers, the supervisor, and the servers of the tests."""
