"""What all operations share: reading requests, refusing input, answering failures, web processes."""
