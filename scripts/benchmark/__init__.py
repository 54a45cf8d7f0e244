"""What scripts/bench measures, and how: servers, measuring, routes, profile."""
