"""ansible-test sanity under more than one ansible-core."""
