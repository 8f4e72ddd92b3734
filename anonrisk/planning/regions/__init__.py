"""Plans by region: a table cut as finely as its limits allow, with ranges per region."""
