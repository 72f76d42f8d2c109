package server_test

import (
	"log/slog"
	"time"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/api/service"
	"attestry/app"
	"attestry/tasks/auditpackage"
)

func init() {
	server.SetProductTable(service.Routes(&resource.Base{Store: &app.Store{}, Log: slog.New(slog.DiscardHandler)}, auditpackage.NewRequests(nil, nil, nil, nil), time.Minute))
}
