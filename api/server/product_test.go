package server_test

import (
	"log/slog"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/service"
	"attestry/app"
)

func init() {
	server.SetProductTable(service.Routes(&resource.Base{Log: slog.New(slog.DiscardHandler)}, &app.Store{}, nil, time.Minute))
}
