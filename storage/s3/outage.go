package s3

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"

	"attestry/storage"
)

// asOutage marks an error that means that the server could not be reached, or could not serve: it failed, is too busy,
// or no longer knows our bucket or our key. The caller's deadline is no outage.
func asOutage(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, storage.ErrNotFound) {
		return err
	}
	var response minio.ErrorResponse
	if errors.As(err, &response) && !serverFault(response) {
		return err
	}
	return storage.Outage(storage.ObjectStore, err)
}

func serverFault(response minio.ErrorResponse) bool {
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return response.StatusCode >= http.StatusInternalServerError || response.Code == minio.NoSuchBucket
}

// body marks the errors of a connection that ends within an object.
type body struct {
	io.ReadCloser
	ctx context.Context
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = asOutage(b.ctx, err)
	}
	return n, err
}
