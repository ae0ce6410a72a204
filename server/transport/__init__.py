"""HTTP servers: our own, or Tornado's. Other packages see only the exchanges that they begin."""
