"""The web console measured among the data of a company: `make test-console` prints the tables."""
