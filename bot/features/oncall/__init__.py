"""Who is on call, by rotas, calendars and PagerDuty."""
