"""What page and terminal share: chats that live in this service, without a platform behind them."""
