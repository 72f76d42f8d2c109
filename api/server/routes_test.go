package server

import "log/slog"

// productRoutes is the product's table.
func productRoutes() []Route { return Routes(&Base{Log: slog.New(slog.DiscardHandler)}) }
