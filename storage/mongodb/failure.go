package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"attestry/storage"
)

// refusals are the server's codes by which it refuses writes until its operator has mended something.
var refusals = map[int]string{
	13:    storage.PermissionDenied, // Unauthorized
	371:   storage.WritesBlocked,    // UserWritesBlocked
	14031: storage.DiskFull,         // OutOfDiskSpace
}

// write runs a command that writes, as command does, and explains its error.
func write(ctx context.Context, run func(context.Context) error) error {
	return explainWrite(command(ctx, run))
}

// explainWrite makes a storage.ErrWriteRefused of an error by which the server refuses writes.
func explainWrite(err error) error {
	var failure mongo.ServerError
	if !errors.As(err, &failure) {
		return err
	}
	for code, reason := range refusals {
		if failure.HasErrorCode(code) {
			return storage.RefuseWrite(storage.Database, reason, err)
		}
	}
	return err
}
