"""The guide, a model without a network: it quotes the documentation and calls real tools by fixed rules."""
