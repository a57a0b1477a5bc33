"""One module for each kind of source: what its requests look like, and how they prove their origin."""
