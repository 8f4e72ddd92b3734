"""What people see: pages and pictures of results."""
