"""Assembly of the lead agent: middleware order, prompt and suggestions."""
