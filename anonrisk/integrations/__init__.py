"""Gates for orchestrators: one module each, which needs that orchestrator to be imported."""
