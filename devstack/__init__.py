"""The programs behind `./dev`: embedded servers, their supervisor, the tests' servers, checks."""
