"""MongoDB Atlas, a service."""
