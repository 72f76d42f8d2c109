package server

// handlers serves the operations.
type handlers struct{ *Base }
