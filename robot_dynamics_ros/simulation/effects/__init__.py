"""Effects on the joints and links of the plant besides its own dynamics."""
